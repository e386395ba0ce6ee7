-- Grain: one row per study, quantity and score, and corpus (summariser) that has both.
-- Key: study, measure, x, y, z, reference_corpus_id, score, corpus_name.
-- Invariants: only loss_difference estimates of whole blocks; ranks start at 1 for the best and are shared by
--   equal values; n_ranked is the number of corpora in the ranking.
-- Reads: latest_estimates, external_scores
CREATE OR REPLACE VIEW summariser_ranking AS
SELECT
    e.study, e.measure, e.x, e.y, e.z, s.score, e.corpus_name,
    e.value_nats, e.std_error_nats, s.value AS score_value, s.unit AS score_unit,
    rank() OVER (
        PARTITION BY e.study, e.measure, e.x, e.y, e.z, e.reference_corpus_id, s.score ORDER BY e.value_nats DESC
    ) AS rank_by_information,
    rank() OVER (
        PARTITION BY e.study, e.measure, e.x, e.y, e.z, e.reference_corpus_id, s.score
        ORDER BY CASE WHEN s.higher_is_better THEN -s.value ELSE s.value END
    ) AS rank_by_score,
    count(*) OVER (PARTITION BY e.study, e.measure, e.x, e.y, e.z, e.reference_corpus_id, s.score) AS n_ranked,
    e.reference_corpus_id
FROM latest_estimates AS e
JOIN external_scores AS s ON s.study = e.study AND s.corpus_name = e.corpus_name
WHERE e.mode = 'whole' AND e.estimator = 'loss_difference';
COMMENT ON VIEW summariser_ranking IS 'Corpora (one a summariser) ranked by the information they carry, beside their rank by someone else''s score; one row per study, quantity, score and corpus.';
COMMENT ON COLUMN summariser_ranking.study IS 'Name of the study.';
COMMENT ON COLUMN summariser_ranking.measure IS 'What was estimated, as in estimates.measure.';
COMMENT ON COLUMN summariser_ranking.x IS 'Block expression.';
COMMENT ON COLUMN summariser_ranking.y IS 'Block expression of the other side; empty where the measure has none.';
COMMENT ON COLUMN summariser_ranking.z IS 'Block expression of the condition; empty where there is none.';
COMMENT ON COLUMN summariser_ranking.score IS 'The score: external_scores.score.';
COMMENT ON COLUMN summariser_ranking.corpus_name IS 'The corpus that is ranked: corpora.name.';
COMMENT ON COLUMN summariser_ranking.value_nats IS 'The estimate by loss_difference, in nats.';
COMMENT ON COLUMN summariser_ranking.std_error_nats IS 'Its standard error, in nats; NULL where it has none.';
COMMENT ON COLUMN summariser_ranking.score_value IS 'The score''s value, in the unit that score_unit names.';
COMMENT ON COLUMN summariser_ranking.score_unit IS 'Unit of the score''s value.';
COMMENT ON COLUMN summariser_ranking.rank_by_information IS 'Rank by the estimate, 1 for the highest.';
COMMENT ON COLUMN summariser_ranking.rank_by_score IS 'Rank by the score, 1 for the best.';
COMMENT ON COLUMN summariser_ranking.n_ranked IS 'Number of corpora in the ranking.';
COMMENT ON COLUMN summariser_ranking.reference_corpus_id IS 'The other corpus of a divergence: corpora.corpus_id; NULL elsewhere.';
