-- Grain: one row per latest estimate of a corpus and known answer about it.
-- Key: study, corpus_id, measure, mode, x, y, z, estimator, reference_corpus_id, bound.
-- Invariants: error_nats = value_nats - truth_nats; agrees says whether the 95 % interval allows the truth: it
--   holds it (exact), reaches up to it (lower) or down to it (upper); NULL where the estimate has no interval.
-- Reads: latest_index, estimates, corpora, truths
CREATE OR REPLACE VIEW estimates_against_truths AS
SELECT
    e.study, e.corpus_id, c.name AS corpus_name, e.measure, e.mode, e.x, e.y, e.z, e.estimator,
    t.bound, t.value_nats AS truth_nats, e.value_nats, e.std_error_nats,
    e.value_nats - t.value_nats AS error_nats,
    CASE WHEN t.value_nats <> 0 THEN (e.value_nats - t.value_nats) / abs(t.value_nats) END AS relative_error,
    CASE WHEN e.std_error_nats > 0 THEN (e.value_nats - t.value_nats) / e.std_error_nats END AS error_in_std_errors,
    CASE t.bound
        WHEN 'exact' THEN e.ci_low_nats <= t.value_nats AND t.value_nats <= e.ci_high_nats
        WHEN 'lower' THEN e.ci_high_nats >= t.value_nats
        WHEN 'upper' THEN e.ci_low_nats <= t.value_nats
    END AS agrees,
    t.source AS truth_source, e.n_samples, e.estimate_id, e.reference_corpus_id
FROM latest_index AS l
JOIN estimates AS e ON e.estimate_id = l.estimate_id
JOIN corpora AS c ON c.corpus_id = e.corpus_id
JOIN truths AS t
    ON t.study = e.study AND t.corpus_id = e.corpus_id AND t.measure = e.measure
    AND t.mode = e.mode AND t.x = e.x AND t.y = e.y AND t.z = e.z
    AND t.reference_corpus_id = coalesce(e.reference_corpus_id, '')
WHERE l.scope = 'corpus';
COMMENT ON VIEW estimates_against_truths IS 'Latest estimates beside the known answers about the same corpus; one row per estimate and known answer.';
COMMENT ON COLUMN estimates_against_truths.study IS 'Name of the study.';
COMMENT ON COLUMN estimates_against_truths.corpus_id IS 'Corpus: corpora.corpus_id.';
COMMENT ON COLUMN estimates_against_truths.corpus_name IS 'Name of the corpus: corpora.name.';
COMMENT ON COLUMN estimates_against_truths.measure IS 'What was estimated, as in estimates.measure.';
COMMENT ON COLUMN estimates_against_truths.mode IS 'whole, keep or remove, as in estimates.mode.';
COMMENT ON COLUMN estimates_against_truths.x IS 'Block expression.';
COMMENT ON COLUMN estimates_against_truths.y IS 'Block expression of the other side; empty where the measure has none.';
COMMENT ON COLUMN estimates_against_truths.z IS 'Block expression of the condition; empty where there is none.';
COMMENT ON COLUMN estimates_against_truths.estimator IS 'How it was estimated, as in estimates.estimator.';
COMMENT ON COLUMN estimates_against_truths.bound IS 'exact, or lower or upper where only a bound on the truth is known.';
COMMENT ON COLUMN estimates_against_truths.truth_nats IS 'The known answer, in nats.';
COMMENT ON COLUMN estimates_against_truths.value_nats IS 'The estimate, in nats.';
COMMENT ON COLUMN estimates_against_truths.std_error_nats IS 'Standard error of the estimate, in nats; NULL where it has none.';
COMMENT ON COLUMN estimates_against_truths.error_nats IS 'Estimate less truth, in nats.';
COMMENT ON COLUMN estimates_against_truths.relative_error IS 'Error as a share of the truth''s size; NULL where the truth is 0.';
COMMENT ON COLUMN estimates_against_truths.error_in_std_errors IS 'Error as a multiple of the standard error; NULL where that is 0 or unknown.';
COMMENT ON COLUMN estimates_against_truths.agrees IS 'True where the 95 % interval allows the truth; NULL where there is no interval.';
COMMENT ON COLUMN estimates_against_truths.truth_source IS 'Why the answer is known.';
COMMENT ON COLUMN estimates_against_truths.n_samples IS 'Number of draws the estimate rests on.';
COMMENT ON COLUMN estimates_against_truths.estimate_id IS 'The estimate: estimates.estimate_id.';
COMMENT ON COLUMN estimates_against_truths.reference_corpus_id IS 'The other corpus of a divergence: corpora.corpus_id; NULL elsewhere.';
