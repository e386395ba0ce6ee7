-- Grain: one row per study, corpus name, measure, mode, x, y, z, estimator and name of the reference corpus (for a
--   divergence): the estimate shown last.
-- Key: study, corpus_name, measure, mode, x, y, z, estimator, reference_corpus_id.
-- Invariants: every row is a row of estimates, unchanged; the last is the one whose run started last, then the
--   one written last; value_bits = value_nats / ln 2.
-- Reads: latest_index, estimates, corpora
CREATE OR REPLACE VIEW latest_estimates AS
SELECT
    e.estimate_id, e.study, e.measure, e.mode, e.x, e.y, e.z, e.estimator,
    e.value_nats, e.std_error_nats, e.ci_low_nats, e.ci_high_nats, e.n_samples,
    e.corpus_id, e.model_id, e.reference_corpus_id, e.reference_model_id, e.seed,
    e.terminal_kl_nats, e.warnings, e.diagnostics, e.created_at,
    c.name AS corpus_name,
    e.value_nats / ln(2) AS value_bits
FROM latest_index AS l
JOIN estimates AS e ON e.estimate_id = l.estimate_id
JOIN corpora AS c ON c.corpus_id = e.corpus_id
WHERE l.scope = 'name';
COMMENT ON VIEW latest_estimates IS 'The estimate shown last of every quantity: one row per study, corpus name, measure, mode, x, y, z, estimator and, of a divergence, reference corpus.';
COMMENT ON COLUMN latest_estimates.estimate_id IS 'Hash of the natural key: estimates.estimate_id.';
COMMENT ON COLUMN latest_estimates.study IS 'Name of the study.';
COMMENT ON COLUMN latest_estimates.measure IS 'What was estimated, as in estimates.measure.';
COMMENT ON COLUMN latest_estimates.mode IS 'whole (x as it is), keep (the window x alone) or remove (all other positions of its block, without the window x).';
COMMENT ON COLUMN latest_estimates.x IS 'Block expression; for remove, the window that is left out.';
COMMENT ON COLUMN latest_estimates.y IS 'Block expression of the other side; empty where the measure has none.';
COMMENT ON COLUMN latest_estimates.z IS 'Block expression of the condition; empty where there is none.';
COMMENT ON COLUMN latest_estimates.estimator IS 'How it was estimated, as in estimates.estimator.';
COMMENT ON COLUMN latest_estimates.value_nats IS 'The estimate, in nats.';
COMMENT ON COLUMN latest_estimates.std_error_nats IS 'Standard error, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN latest_estimates.ci_low_nats IS 'Lower end of the 95 % interval, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN latest_estimates.ci_high_nats IS 'Upper end of the 95 % interval, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN latest_estimates.n_samples IS 'Number of draws the estimate rests on.';
COMMENT ON COLUMN latest_estimates.corpus_id IS 'Corpus: corpora.corpus_id.';
COMMENT ON COLUMN latest_estimates.model_id IS 'Model: score_models.model_id; NULL where none was used.';
COMMENT ON COLUMN latest_estimates.reference_corpus_id IS 'The other corpus of a divergence; NULL elsewhere.';
COMMENT ON COLUMN latest_estimates.reference_model_id IS 'The other model of a divergence; NULL elsewhere.';
COMMENT ON COLUMN latest_estimates.seed IS 'Seed of training and estimation.';
COMMENT ON COLUMN latest_estimates.terminal_kl_nats IS 'Terminal term that is part of the value, in nats.';
COMMENT ON COLUMN latest_estimates.warnings IS 'Sentences that say why the number should be doubted.';
COMMENT ON COLUMN latest_estimates.diagnostics IS 'Map: name of a diagnostic -> its number.';
COMMENT ON COLUMN latest_estimates.created_at IS 'When the estimate was written (UTC).';
COMMENT ON COLUMN latest_estimates.corpus_name IS 'Name of the corpus: corpora.name.';
COMMENT ON COLUMN latest_estimates.value_bits IS 'The estimate, in bits.';
