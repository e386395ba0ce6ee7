-- Grain: one row per run.
-- Key: run_id.
-- Invariants: run_seconds is NULL while a run runs; n_estimates = n_computed + n_reused; run_number counts the
--   runs of a study from 1 in the order they started.
-- Reads: runs, run_estimates
CREATE OR REPLACE VIEW run_history AS
WITH shown AS (
    SELECT
        run_id,
        count(*) AS n_estimates,
        count(*) FILTER (WHERE NOT reused) AS n_computed,
        count(*) FILTER (WHERE reused) AS n_reused
    FROM run_estimates
    GROUP BY run_id
)
SELECT
    r.run_id, r.study,
    row_number() OVER (PARTITION BY r.study ORDER BY r.started_at, r.run_id) AS run_number,
    r.flow_run_id, r.status, r.started_at, r.finished_at,
    epoch_ms(r.finished_at - r.started_at) / 1000.0 AS run_seconds,
    coalesce(s.n_estimates, 0) AS n_estimates,
    coalesce(s.n_computed, 0) AS n_computed,
    coalesce(s.n_reused, 0) AS n_reused,
    r.error, r.versions
FROM runs AS r
LEFT JOIN shown AS s ON s.run_id = r.run_id;
COMMENT ON VIEW run_history IS 'Every run with how long it took and how many estimates it showed; one row per run.';
COMMENT ON COLUMN run_history.run_id IS 'The run: runs.run_id.';
COMMENT ON COLUMN run_history.study IS 'Name of the study.';
COMMENT ON COLUMN run_history.run_number IS 'Number of the run within its study, from 1.';
COMMENT ON COLUMN run_history.flow_run_id IS 'Identifier of the Prefect flow run; NULL where there was none.';
COMMENT ON COLUMN run_history.status IS 'running, completed, failed, interrupted or crashed.';
COMMENT ON COLUMN run_history.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN run_history.finished_at IS 'When the run ended (UTC); NULL while it runs.';
COMMENT ON COLUMN run_history.run_seconds IS 'Seconds from start to end; NULL while it runs.';
COMMENT ON COLUMN run_history.n_estimates IS 'Number of estimates the run showed.';
COMMENT ON COLUMN run_history.n_computed IS 'How many of them it computed.';
COMMENT ON COLUMN run_history.n_reused IS 'How many of them it found stored.';
COMMENT ON COLUMN run_history.error IS 'What went wrong; NULL where nothing did.';
COMMENT ON COLUMN run_history.versions IS 'JSON object: name of a library -> version.';
