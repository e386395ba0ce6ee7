-- Grain: one row per run that did not end well.
-- Key: run_id.
-- Invariants: status is failed, interrupted or crashed; completed_since says whether a later run of the study
--   ended well.
-- Reads: run_history
CREATE OR REPLACE VIEW failed_runs AS
SELECT
    h.run_id, h.study, h.flow_run_id, h.status, h.started_at, h.finished_at, h.run_seconds, h.error,
    EXISTS (
        SELECT 1 FROM run_history AS later
        WHERE later.study = h.study AND later.status = 'completed' AND later.started_at > h.started_at
    ) AS completed_since
FROM run_history AS h
WHERE h.status IN ('failed', 'interrupted', 'crashed');
COMMENT ON VIEW failed_runs IS 'Runs that failed, were interrupted or crashed, and why; one row per such run.';
COMMENT ON COLUMN failed_runs.run_id IS 'The run: runs.run_id.';
COMMENT ON COLUMN failed_runs.study IS 'Name of the study.';
COMMENT ON COLUMN failed_runs.flow_run_id IS 'Identifier of the Prefect flow run; NULL where there was none.';
COMMENT ON COLUMN failed_runs.status IS 'failed (an error), interrupted (stopped by a person) or crashed (its process died).';
COMMENT ON COLUMN failed_runs.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN failed_runs.finished_at IS 'When the run ended (UTC).';
COMMENT ON COLUMN failed_runs.run_seconds IS 'Seconds from start to end.';
COMMENT ON COLUMN failed_runs.error IS 'What went wrong, where, and what to do.';
COMMENT ON COLUMN failed_runs.completed_since IS 'True where a later run of the same study ended well.';
