-- Grain: one row per estimate that a run showed, beside the same quantity in the run before it that showed it.
-- Key: run_id, estimate_id.
-- Invariants: previous_run_id is a run of the same study that started earlier and showed the same corpus name,
--   measure, mode, x, y, z, estimator, seed and name of the reference corpus, or NULL for the first; change_nats = value_nats -
--   previous_value_nats; a reused estimate has change_nats 0 and change_std_error_nats 0.
-- Reads: run_estimates, runs, estimates, corpora
CREATE OR REPLACE VIEW estimate_changes AS
WITH shown AS (
    SELECT
        r.study, r.run_id, r.started_at, c.name AS corpus_name,
        e.measure, e.mode, e.x, e.y, e.z, e.estimator, e.seed,
        coalesce(o.name, e.reference_corpus_id) AS reference_name,
        e.estimate_id, e.corpus_id, e.model_id, e.value_nats, e.std_error_nats, e.created_at
    FROM run_estimates AS s
    JOIN runs AS r ON r.run_id = s.run_id
    JOIN estimates AS e ON e.estimate_id = s.estimate_id
    JOIN corpora AS c ON c.corpus_id = e.corpus_id
    LEFT JOIN corpora AS o ON o.corpus_id = e.reference_corpus_id
),
paired AS (
    SELECT
        *,
        lag(run_id) OVER quantity AS previous_run_id,
        lag(estimate_id) OVER quantity AS previous_estimate_id,
        lag(value_nats) OVER quantity AS previous_value_nats,
        lag(std_error_nats) OVER quantity AS previous_std_error_nats
    FROM (
        SELECT * FROM shown
        QUALIFY row_number() OVER (
            PARTITION BY study, run_id, corpus_name, measure, mode, x, y, z, estimator, seed, reference_name
            ORDER BY created_at DESC, estimate_id DESC
        ) = 1
    ) AS one_a_run
    WINDOW quantity AS (
        PARTITION BY study, corpus_name, measure, mode, x, y, z, estimator, seed, reference_name
        ORDER BY started_at, run_id
    )
)
SELECT
    study, run_id, started_at, corpus_name, measure, mode, x, y, z, estimator, seed,
    estimate_id, value_nats,
    previous_run_id, previous_estimate_id, previous_value_nats,
    value_nats - previous_value_nats AS change_nats,
    CASE
        WHEN estimate_id = previous_estimate_id THEN 0.0
        ELSE sqrt(std_error_nats * std_error_nats + previous_std_error_nats * previous_std_error_nats)
    END AS change_std_error_nats,
    reference_name
FROM paired;
COMMENT ON VIEW estimate_changes IS 'Every estimate that a run showed, beside the same quantity (and seed) in the previous run of the study that showed it; one row per run and estimate.';
COMMENT ON COLUMN estimate_changes.study IS 'Name of the study.';
COMMENT ON COLUMN estimate_changes.run_id IS 'The run: runs.run_id.';
COMMENT ON COLUMN estimate_changes.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN estimate_changes.corpus_name IS 'Name of the corpus: corpora.name.';
COMMENT ON COLUMN estimate_changes.measure IS 'What was estimated, as in estimates.measure.';
COMMENT ON COLUMN estimate_changes.mode IS 'whole, keep or remove, as in estimates.mode.';
COMMENT ON COLUMN estimate_changes.x IS 'Block expression.';
COMMENT ON COLUMN estimate_changes.y IS 'Block expression of the other side; empty where the measure has none.';
COMMENT ON COLUMN estimate_changes.z IS 'Block expression of the condition; empty where there is none.';
COMMENT ON COLUMN estimate_changes.estimator IS 'How it was estimated, as in estimates.estimator.';
COMMENT ON COLUMN estimate_changes.seed IS 'Seed of training and estimation; only equal seeds are compared.';
COMMENT ON COLUMN estimate_changes.estimate_id IS 'The estimate: estimates.estimate_id.';
COMMENT ON COLUMN estimate_changes.value_nats IS 'The estimate, in nats.';
COMMENT ON COLUMN estimate_changes.previous_run_id IS 'The previous run that showed the quantity; NULL for the first.';
COMMENT ON COLUMN estimate_changes.previous_estimate_id IS 'The estimate it showed; NULL for the first.';
COMMENT ON COLUMN estimate_changes.previous_value_nats IS 'Its value, in nats; NULL for the first.';
COMMENT ON COLUMN estimate_changes.change_nats IS 'Value less previous value, in nats; NULL for the first.';
COMMENT ON COLUMN estimate_changes.change_std_error_nats IS 'Standard error of the change if the two are independent, in nats; 0 where the estimate was reused, NULL where one has no error.';
COMMENT ON COLUMN estimate_changes.reference_name IS 'Name of the other corpus of a divergence: corpora.name; NULL elsewhere.';
