-- Grain: one row per score model.
-- Key: model_id.
-- Invariants: root_model_id is the end of the chain of parents (the model itself where it has none, or where its
--   parent is not in the warehouse); generation counts the steps from the root, 0 for the root.
-- Reads: score_models, corpora
CREATE OR REPLACE VIEW model_lineage AS
WITH RECURSIVE chain AS (
    SELECT m.model_id, m.model_id AS root_model_id, 0 AS generation
    FROM score_models AS m
    WHERE m.parent_model_id IS NULL OR m.parent_model_id NOT IN (SELECT model_id FROM score_models)
    UNION ALL
    SELECT m.model_id, c.root_model_id, c.generation + 1
    FROM score_models AS m
    JOIN chain AS c ON m.parent_model_id = c.model_id
)
SELECT
    c.model_id, m.parent_model_id, c.root_model_id, c.generation,
    m.corpus_id, corpora.name AS corpus_name, m.process, m.network,
    m.n_parameters, m.train_steps, m.train_seconds, m.held_out_loss_nats, m.created_at
FROM chain AS c
JOIN score_models AS m ON m.model_id = c.model_id
LEFT JOIN corpora ON corpora.corpus_id = m.corpus_id;
COMMENT ON VIEW model_lineage IS 'Which model was warm-started from which; one row per score model.';
COMMENT ON COLUMN model_lineage.model_id IS 'The model: score_models.model_id.';
COMMENT ON COLUMN model_lineage.parent_model_id IS 'Model it was warm-started from; NULL where it started afresh.';
COMMENT ON COLUMN model_lineage.root_model_id IS 'First model of the chain.';
COMMENT ON COLUMN model_lineage.generation IS 'Number of warm starts since the first model of the chain.';
COMMENT ON COLUMN model_lineage.corpus_id IS 'Corpus it was trained on: corpora.corpus_id.';
COMMENT ON COLUMN model_lineage.corpus_name IS 'Name of that corpus: corpora.name.';
COMMENT ON COLUMN model_lineage.process IS 'Noise process.';
COMMENT ON COLUMN model_lineage.network IS 'Network.';
COMMENT ON COLUMN model_lineage.n_parameters IS 'Number of trained numbers.';
COMMENT ON COLUMN model_lineage.train_steps IS 'Number of optimiser steps, all folds together.';
COMMENT ON COLUMN model_lineage.train_seconds IS 'Seconds of training, all folds together.';
COMMENT ON COLUMN model_lineage.held_out_loss_nats IS 'Held-out loss, in nats a sequence; NULL where none was held out.';
COMMENT ON COLUMN model_lineage.created_at IS 'When the model was made (UTC).';
