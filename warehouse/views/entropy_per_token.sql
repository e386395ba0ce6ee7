-- Grain: one row per latest entropy: study, corpus name, mode, x, z and estimator.
-- Key: study, corpus_name, mode, x, z, estimator.
-- Invariants: measure is entropy; n_tokens >= 1 counts the positions that x names;
--   value_nats_per_token * n_tokens = value_nats; ceiling_nats_per_token is the mean of ln(vocabulary size).
-- Reads: latest_estimates, corpora
CREATE OR REPLACE VIEW entropy_per_token AS
WITH entropies AS (
    SELECT * FROM latest_estimates WHERE measure = 'entropy'
),
parts AS (
    SELECT corpus_id, x, trim(unnest(string_split(x, '+'))) AS part
    FROM (SELECT DISTINCT corpus_id, x FROM entropies) AS named
),
spans AS (
    SELECT
        corpus_id, x, part,
        regexp_extract(part, '^([^\[]+)', 1) AS block,
        try_cast(regexp_extract(part, '\[(\d+)', 1) AS BIGINT) AS first_position,
        try_cast(regexp_extract(part, ':(\d+)\]', 1) AS BIGINT) AS range_stop
    FROM parts
),
blocks AS (
    SELECT corpus_id, b.name AS block, b.length AS length, b.vocabulary_size AS vocabulary_size
    FROM (SELECT corpus_id, unnest(blocks) AS b FROM corpora) AS unnested
),
counted AS (
    SELECT
        s.corpus_id, s.x, b.vocabulary_size,
        CASE
            WHEN s.first_position IS NULL THEN b.length
            ELSE coalesce(s.range_stop, s.first_position + 1) - s.first_position
        END AS n_tokens
    FROM spans AS s
    JOIN blocks AS b ON b.corpus_id = s.corpus_id AND b.block = s.block
),
tokens AS (
    SELECT
        corpus_id, x,
        CAST(sum(n_tokens) AS BIGINT) AS n_tokens,
        sum(n_tokens * ln(vocabulary_size)) / sum(n_tokens) AS ceiling_nats_per_token
    FROM counted
    GROUP BY corpus_id, x
)
SELECT
    e.study, e.corpus_id, e.corpus_name, e.mode, e.x, e.z, e.estimator, t.n_tokens,
    e.value_nats,
    e.value_nats / t.n_tokens AS value_nats_per_token,
    e.std_error_nats / t.n_tokens AS std_error_nats_per_token,
    e.value_bits / t.n_tokens AS value_bits_per_token,
    t.ceiling_nats_per_token
FROM entropies AS e
JOIN tokens AS t ON t.corpus_id = e.corpus_id AND t.x = e.x;
COMMENT ON VIEW entropy_per_token IS 'Latest entropies divided by the number of tokens they are about, beside the ceiling of uniform tokens; one row per latest entropy.';
COMMENT ON COLUMN entropy_per_token.study IS 'Name of the study.';
COMMENT ON COLUMN entropy_per_token.corpus_id IS 'Corpus: corpora.corpus_id.';
COMMENT ON COLUMN entropy_per_token.corpus_name IS 'Name of the corpus: corpora.name.';
COMMENT ON COLUMN entropy_per_token.mode IS 'whole, keep or remove, as in estimates.mode.';
COMMENT ON COLUMN entropy_per_token.x IS 'Block expression whose entropy it is.';
COMMENT ON COLUMN entropy_per_token.z IS 'Block expression of the condition; empty where there is none.';
COMMENT ON COLUMN entropy_per_token.estimator IS 'How it was estimated, as in estimates.estimator.';
COMMENT ON COLUMN entropy_per_token.n_tokens IS 'Number of positions that x names.';
COMMENT ON COLUMN entropy_per_token.value_nats IS 'Entropy of x, in nats.';
COMMENT ON COLUMN entropy_per_token.value_nats_per_token IS 'Entropy divided by the number of tokens, in nats.';
COMMENT ON COLUMN entropy_per_token.std_error_nats_per_token IS 'Standard error of that, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN entropy_per_token.value_bits_per_token IS 'Entropy divided by the number of tokens, in bits.';
COMMENT ON COLUMN entropy_per_token.ceiling_nats_per_token IS 'What it would be if every symbol were equally likely: the mean of ln(vocabulary size), in nats.';
