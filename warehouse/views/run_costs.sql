-- Grain: one row per run.
-- Key: run_id.
-- Invariants: a model is trained by the first run that computed an estimate with it, if the model was made after
--   that run started; train_seconds counts each model in one run only; seconds_per_estimate is NULL where the run
--   computed none.
-- Reads: run_history, run_estimates, estimates, score_models
CREATE OR REPLACE VIEW run_costs AS
WITH used AS (
    SELECT DISTINCT s.run_id, e.model_id
    FROM run_estimates AS s
    JOIN estimates AS e ON e.estimate_id = s.estimate_id
    WHERE e.model_id IS NOT NULL
),
first_use AS (
    SELECT u.run_id, u.model_id, h.started_at
    FROM used AS u
    JOIN run_history AS h ON h.run_id = u.run_id
    QUALIFY row_number() OVER (PARTITION BY u.model_id ORDER BY h.started_at, u.run_id) = 1
),
trained AS (
    SELECT f.run_id, count(*) AS n_models_trained, sum(m.train_seconds) AS train_seconds
    FROM first_use AS f
    JOIN score_models AS m ON m.model_id = f.model_id
    WHERE m.created_at >= f.started_at
    GROUP BY f.run_id
),
models AS (
    SELECT run_id, count(*) AS n_models FROM used GROUP BY run_id
)
SELECT
    h.run_id, h.study, h.run_number, h.status, h.started_at, h.run_seconds,
    coalesce(t.train_seconds, 0.0) AS train_seconds,
    coalesce(t.n_models_trained, 0) AS n_models_trained,
    coalesce(m.n_models, 0) - coalesce(t.n_models_trained, 0) AS n_models_reused,
    h.n_computed AS n_estimates_computed,
    h.n_reused AS n_estimates_reused,
    CASE WHEN h.n_computed > 0 THEN h.run_seconds / h.n_computed END AS seconds_per_estimate
FROM run_history AS h
LEFT JOIN trained AS t ON t.run_id = h.run_id
LEFT JOIN models AS m ON m.run_id = h.run_id;
COMMENT ON VIEW run_costs IS 'What each run cost in seconds, of it training, and what it could reuse; one row per run.';
COMMENT ON COLUMN run_costs.run_id IS 'The run: runs.run_id.';
COMMENT ON COLUMN run_costs.study IS 'Name of the study.';
COMMENT ON COLUMN run_costs.run_number IS 'Number of the run within its study, from 1.';
COMMENT ON COLUMN run_costs.status IS 'running, completed, failed, interrupted or crashed.';
COMMENT ON COLUMN run_costs.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN run_costs.run_seconds IS 'Seconds from start to end; NULL while it runs.';
COMMENT ON COLUMN run_costs.train_seconds IS 'Seconds of training of the models that the run made.';
COMMENT ON COLUMN run_costs.n_models_trained IS 'Number of models that the run made.';
COMMENT ON COLUMN run_costs.n_models_reused IS 'Number of models that the run found ready.';
COMMENT ON COLUMN run_costs.n_estimates_computed IS 'Number of estimates that the run computed.';
COMMENT ON COLUMN run_costs.n_estimates_reused IS 'Number of estimates that the run found stored.';
COMMENT ON COLUMN run_costs.seconds_per_estimate IS 'Seconds of the run for each estimate it computed; NULL where it computed none.';
