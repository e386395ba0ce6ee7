-- Grain: one row per window of a profile: study, corpus, mode, y, estimator and window of one block.
-- Key: study, corpus_id, mode, x, y, estimator.
-- Invariants: measure is mutual_information without a condition, or jensen_shannon_divergence, which is that of y, the
--   label of an even mixture of two corpora; mode is keep or remove, x names one run of
--   positions of one block; 0 <= window_start < window_stop; the estimate is the one shown last for its corpus.
-- Reads: latest_index, estimates, corpora
CREATE OR REPLACE VIEW information_profile AS
WITH windows AS (
    SELECT
        e.study, e.corpus_id, e.mode, e.x, e.y, e.estimator, e.value_nats, e.std_error_nats,
        regexp_extract(e.x, '^([^\[]+)', 1) AS block,
        try_cast(regexp_extract(e.x, '\[(\d+)', 1) AS BIGINT) AS first_position,
        try_cast(regexp_extract(e.x, ':(\d+)\]', 1) AS BIGINT) AS range_stop
    FROM latest_index AS l
    JOIN estimates AS e ON e.estimate_id = l.estimate_id
    WHERE l.scope = 'corpus'
        AND e.measure IN ('mutual_information', 'jensen_shannon_divergence') AND e.z = '' AND e.reference_corpus_id IS NULL
        AND e.mode IN ('keep', 'remove')
        AND regexp_full_match(e.x, '[^\[\]+]+(\[\d+(:\d+)?\])?')
),
lengths AS (
    SELECT corpus_id, b.name AS block, b.length AS length
    FROM (SELECT corpus_id, unnest(blocks) AS b FROM corpora) AS unnested
)
SELECT
    w.study, w.corpus_id, w.mode, w.x, w.y, w.estimator,
    coalesce(w.first_position, 0) AS window_start,
    coalesce(w.range_stop, w.first_position + 1, n.length) AS window_stop,
    w.value_nats, w.std_error_nats
FROM windows AS w
JOIN lengths AS n ON n.corpus_id = w.corpus_id AND n.block = w.block;
COMMENT ON VIEW information_profile IS 'The latest information profile of every corpus: what each window of a block (keep), or all but it (remove), says about y, in nats; one row per window, mode and estimator.';
COMMENT ON COLUMN information_profile.study IS 'Name of the study.';
COMMENT ON COLUMN information_profile.corpus_id IS 'Corpus: corpora.corpus_id.';
COMMENT ON COLUMN information_profile.mode IS 'keep (the window alone) or remove (all other positions of its block, without the window).';
COMMENT ON COLUMN information_profile.x IS 'Block expression of the window, such as promoter[39:45].';
COMMENT ON COLUMN information_profile.y IS 'Block expression that the window says something about.';
COMMENT ON COLUMN information_profile.estimator IS 'How it was estimated, as in estimates.estimator.';
COMMENT ON COLUMN information_profile.window_start IS 'First position of the window, from 0.';
COMMENT ON COLUMN information_profile.window_stop IS 'Position after the last one of the window.';
COMMENT ON COLUMN information_profile.value_nats IS 'Mutual information with y, in nats: of the window (keep), or of the rest of its block (remove); the information of the whole block less the latter is what is lost without the window.';
COMMENT ON COLUMN information_profile.std_error_nats IS 'Standard error, in nats; NULL where the estimator has none.';
