-- A divergence is between two corpora, so the other one belongs to the key of its latest estimate and of its truth.
-- Table truths is made anew, since a primary key can't be altered.

CREATE TEMP TABLE old_truths AS SELECT * FROM truths;
DROP TABLE truths;
CREATE TABLE truths (
    study VARCHAR NOT NULL CHECK (study <> ''),
    corpus_id VARCHAR NOT NULL,
    measure VARCHAR NOT NULL CHECK (measure IN (
        'mutual_information', 'conditional_mutual_information', 'entropy', 'kl_divergence',
        'jensen_shannon_divergence', 'total_correlation', 'dual_total_correlation', 'o_information')),
    mode VARCHAR NOT NULL CHECK (mode IN ('whole', 'keep', 'remove')),
    x VARCHAR NOT NULL,
    y VARCHAR NOT NULL,
    z VARCHAR NOT NULL,
    reference_corpus_id VARCHAR NOT NULL,
    bound VARCHAR NOT NULL CHECK (bound IN ('exact', 'lower', 'upper')),
    value_nats DOUBLE NOT NULL CHECK (value_nats > '-inf'::DOUBLE AND value_nats < 'inf'::DOUBLE),
    source VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, corpus_id, measure, mode, x, y, z, reference_corpus_id, bound)
);
INSERT INTO truths BY NAME SELECT *, '' AS reference_corpus_id FROM old_truths;
DROP TABLE old_truths;
COMMENT ON TABLE truths IS 'One row per known answer about a corpus. Key: study, corpus_id, measure, mode, x, y, z, reference_corpus_id and bound; a corrected value replaces the old one.';
COMMENT ON COLUMN truths.study IS 'Study the answer belongs to.';
COMMENT ON COLUMN truths.corpus_id IS 'Corpus it is about: corpora.corpus_id.';
COMMENT ON COLUMN truths.measure IS 'Measure, named as in estimates.measure.';
COMMENT ON COLUMN truths.mode IS 'whole, keep or remove, as in estimates.mode.';
COMMENT ON COLUMN truths.x IS 'Block expression, as in estimates.x.';
COMMENT ON COLUMN truths.y IS 'Block expression, as in estimates.y.';
COMMENT ON COLUMN truths.z IS 'Block expression, as in estimates.z.';
COMMENT ON COLUMN truths.reference_corpus_id IS 'The other corpus of a divergence: corpora.corpus_id; empty (not NULL, as it is part of the key) elsewhere.';
COMMENT ON COLUMN truths.bound IS 'exact: the value is the truth; lower or upper: the truth is at least or at most the value.';
COMMENT ON COLUMN truths.value_nats IS 'The known answer, in nats.';
COMMENT ON COLUMN truths.source IS 'Why it is known: a formula, an enumeration, a publication.';
COMMENT ON COLUMN truths.created_at IS 'When the row was last written (UTC).';

-- The latest of each quantity without a reference keeps its key; of those with one, all are found again.
DELETE FROM latest_index WHERE estimate_id IN (SELECT estimate_id FROM estimates WHERE reference_corpus_id IS NOT NULL);
INSERT INTO latest_index
WITH shown AS (
    SELECT
        e.study, e.corpus_id, c.name AS corpus_name, e.measure, e.mode, e.x, e.y, e.z, e.estimator,
        e.reference_corpus_id, coalesce(o.name, e.reference_corpus_id) AS reference_name,
        e.estimate_id, r.started_at AS shown_at, e.created_at
    FROM run_estimates AS s
    JOIN runs AS r ON r.run_id = s.run_id
    JOIN estimates AS e ON e.estimate_id = s.estimate_id
    JOIN corpora AS c ON c.corpus_id = e.corpus_id
    LEFT JOIN corpora AS o ON o.corpus_id = e.reference_corpus_id
    WHERE e.reference_corpus_id IS NOT NULL
),
scoped AS (
    SELECT *, 'corpus' AS scope, corpus_id AS corpus, reference_corpus_id AS reference FROM shown
    UNION ALL
    SELECT *, 'name' AS scope, corpus_name AS corpus, reference_name AS reference FROM shown
)
SELECT
    md5(scope || length(study) || ':' || study || length(corpus) || ':' || corpus
        || length(measure) || ':' || measure || length(mode) || ':' || mode || length(x) || ':' || x
        || length(y) || ':' || y || length(z) || ':' || z || length(estimator) || ':' || estimator
        || length(reference) || ':' || reference) AS quantity_id,
    scope, estimate_id, shown_at, created_at
FROM scoped
QUALIFY row_number() OVER (PARTITION BY quantity_id ORDER BY shown_at DESC, created_at DESC, estimate_id DESC) = 1;
COMMENT ON COLUMN latest_index.quantity_id IS 'Hash of scope, study, corpus (its id or its name), measure, mode, x, y, z, estimator, and the reference corpus (likewise) where there is one.';

COMMENT ON COLUMN estimates.mode IS 'What of x counts: whole (x as it is), keep (x is a window, and only it is shown) or remove (x is a window, and the value is of all other positions of its block without those of y and z: what the rest carries).';
COMMENT ON COLUMN estimates.x IS 'Block expression, such as promoter, promoter[39] or promoter[39:45] (from 0, half open); for remove, the window that is left out.';
