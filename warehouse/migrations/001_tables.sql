-- The tables of the warehouse. All times are UTC; every number carries its unit in its name.
-- Text with a fixed set of values is VARCHAR with a CHECK: a later migration can widen it.
-- CHECKs use operators only, no functions such as isfinite(), and defaults likewise: DuckDB can't bind functions while
-- it replays the log of an ALTER TABLE, so a process killed at the wrong moment would leave a file that won't open.
-- NaN is greater than every other number, so it is not less than infinity.

CREATE TABLE schema_version (
    version INTEGER PRIMARY KEY,
    name VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE schema_version IS 'One row per migration that was applied to this file; the highest version is the schema of the file.';
COMMENT ON COLUMN schema_version.version IS 'Number of the migration, from 1 without gaps.';
COMMENT ON COLUMN schema_version.name IS 'Name of the migration file.';
COMMENT ON COLUMN schema_version.applied_at IS 'When it was applied (UTC).';

CREATE TABLE schema_views (
    name VARCHAR PRIMARY KEY,
    sha256 VARCHAR NOT NULL,
    applied_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE schema_views IS 'One row per view, as it was last made from its file; a view whose file has another digest is made anew.';
COMMENT ON COLUMN schema_views.name IS 'Name of the view.';
COMMENT ON COLUMN schema_views.sha256 IS 'SHA-256 of the text of the file that the view was made from.';
COMMENT ON COLUMN schema_views.applied_at IS 'When it was made (UTC).';

CREATE TABLE runs (
    run_id VARCHAR PRIMARY KEY CHECK (run_id <> ''),
    study VARCHAR NOT NULL CHECK (study <> ''),
    flow_run_id VARCHAR,
    status VARCHAR NOT NULL CHECK (status IN ('running', 'completed', 'failed', 'interrupted', 'crashed')),
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    error VARCHAR,
    versions JSON NOT NULL,
    CHECK (finished_at >= started_at),
    CHECK (status <> 'running' OR finished_at IS NULL)
);
COMMENT ON TABLE runs IS 'One row per run of a study, whether it ended well or not. Key: run_id.';
COMMENT ON COLUMN runs.run_id IS 'Identifier of the run.';
COMMENT ON COLUMN runs.study IS 'Name of the study that was run.';
COMMENT ON COLUMN runs.flow_run_id IS 'Identifier of the Prefect flow run; NULL where there was none.';
COMMENT ON COLUMN runs.status IS 'running, completed, failed (an error), interrupted (stopped by a person) or crashed (its process died).';
COMMENT ON COLUMN runs.started_at IS 'When the run started (UTC).';
COMMENT ON COLUMN runs.finished_at IS 'When the run ended (UTC); NULL while it runs.';
COMMENT ON COLUMN runs.error IS 'What went wrong, where, and what to do; NULL where nothing did.';
COMMENT ON COLUMN runs.versions IS 'JSON object: name of a library -> the version the run used.';

CREATE TABLE corpora (
    corpus_id VARCHAR PRIMARY KEY CHECK (corpus_id <> ''),
    name VARCHAR NOT NULL CHECK (name <> ''),
    connector VARCHAR NOT NULL,
    source_uri VARCHAR NOT NULL,
    source_sha256 VARCHAR NOT NULL,
    n_sequences BIGINT NOT NULL CHECK (n_sequences > 0),
    n_dropped BIGINT NOT NULL CHECK (n_dropped >= 0),
    blocks STRUCT(name VARCHAR, length BIGINT, vocabulary_size BIGINT, lattice BIGINT[])[] NOT NULL,
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE corpora IS 'One row per corpus content, as it was first recorded. Key: corpus_id.';
COMMENT ON COLUMN corpora.corpus_id IS 'Hash of the content: blocks, tokens, weights, groups, splits and sequence ids.';
COMMENT ON COLUMN corpora.name IS 'Name under which the content was first ingested.';
COMMENT ON COLUMN corpora.connector IS 'Connector that read the source.';
COMMENT ON COLUMN corpora.source_uri IS 'Where the data came from: a path or an address.';
COMMENT ON COLUMN corpora.source_sha256 IS 'SHA-256 of the source; empty where the data were in memory.';
COMMENT ON COLUMN corpora.n_sequences IS 'Number of rows of the corpus.';
COMMENT ON COLUMN corpora.n_dropped IS 'Number of sequences of the source that were left out.';
COMMENT ON COLUMN corpora.blocks IS 'The blocks in order: name, length in tokens, number of symbols, and the shape of the lattice or NULL.';
COMMENT ON COLUMN corpora.created_at IS 'When the row was written (UTC).';

CREATE TABLE score_models (
    model_id VARCHAR PRIMARY KEY CHECK (model_id <> ''),
    corpus_id VARCHAR NOT NULL,
    process VARCHAR NOT NULL,
    network VARCHAR NOT NULL,
    config JSON NOT NULL,
    n_parameters BIGINT NOT NULL CHECK (n_parameters >= 0),
    train_steps BIGINT NOT NULL CHECK (train_steps >= 0),
    train_seconds DOUBLE NOT NULL CHECK (train_seconds >= 0 AND train_seconds < 'inf'::DOUBLE),
    held_out_loss_nats DOUBLE CHECK (held_out_loss_nats > '-inf'::DOUBLE AND held_out_loss_nats < 'inf'::DOUBLE),
    weights_sha256 VARCHAR NOT NULL,
    parent_model_id VARCHAR CHECK (parent_model_id <> model_id),
    path VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE score_models IS 'One row per score model, as it was first recorded. Key: model_id.';
COMMENT ON COLUMN score_models.model_id IS 'Hash of corpus, configuration, seed, parent and format: the registry''s key.';
COMMENT ON COLUMN score_models.corpus_id IS 'Corpus the model was trained on: corpora.corpus_id.';
COMMENT ON COLUMN score_models.process IS 'Noise process: absorbing or uniform.';
COMMENT ON COLUMN score_models.network IS 'Network that was used, also where the configuration says auto.';
COMMENT ON COLUMN score_models.config IS 'JSON object: the whole configuration.';
COMMENT ON COLUMN score_models.n_parameters IS 'Number of trained numbers.';
COMMENT ON COLUMN score_models.train_steps IS 'Number of optimiser steps, all folds together.';
COMMENT ON COLUMN score_models.train_seconds IS 'Seconds of training, all folds together.';
COMMENT ON COLUMN score_models.held_out_loss_nats IS 'Denoising score entropy on data the model was not trained on, in nats a sequence; NULL where none was held out.';
COMMENT ON COLUMN score_models.weights_sha256 IS 'SHA-256 of the weights.';
COMMENT ON COLUMN score_models.parent_model_id IS 'Model this one was warm-started from: score_models.model_id; NULL where it started afresh.';
COMMENT ON COLUMN score_models.path IS 'Folder of the model, relative to the home where it lies inside it.';
COMMENT ON COLUMN score_models.created_at IS 'When the model was made (UTC).';

CREATE TABLE estimates (
    estimate_id VARCHAR PRIMARY KEY CHECK (estimate_id <> ''),
    study VARCHAR NOT NULL CHECK (study <> ''),
    measure VARCHAR NOT NULL CHECK (measure IN (
        'mutual_information', 'conditional_mutual_information', 'entropy', 'kl_divergence',
        'jensen_shannon_divergence', 'total_correlation', 'dual_total_correlation', 'o_information')),
    mode VARCHAR NOT NULL CHECK (mode IN ('whole', 'keep', 'remove')),
    x VARCHAR NOT NULL,
    y VARCHAR NOT NULL,
    z VARCHAR NOT NULL,
    estimator VARCHAR NOT NULL CHECK (estimator IN (
        'loss_difference', 'dynkin', 'plug_in', 'miller_madow', 'per_position_plug_in')),
    value_nats DOUBLE NOT NULL CHECK (value_nats > '-inf'::DOUBLE AND value_nats < 'inf'::DOUBLE),
    std_error_nats DOUBLE CHECK (std_error_nats >= 0 AND std_error_nats < 'inf'::DOUBLE),
    ci_low_nats DOUBLE CHECK (ci_low_nats > '-inf'::DOUBLE AND ci_low_nats < 'inf'::DOUBLE),
    ci_high_nats DOUBLE CHECK (ci_high_nats > '-inf'::DOUBLE AND ci_high_nats < 'inf'::DOUBLE),
    n_samples BIGINT NOT NULL CHECK (n_samples > 0),
    corpus_id VARCHAR NOT NULL,
    model_id VARCHAR,
    reference_corpus_id VARCHAR,
    reference_model_id VARCHAR,
    seed BIGINT NOT NULL,
    terminal_kl_nats DOUBLE NOT NULL CHECK (terminal_kl_nats > '-inf'::DOUBLE AND terminal_kl_nats < 'inf'::DOUBLE),
    warnings VARCHAR[] NOT NULL,
    diagnostics MAP(VARCHAR, DOUBLE) NOT NULL,
    created_at TIMESTAMP NOT NULL,
    CHECK (ci_low_nats <= value_nats),
    CHECK (value_nats <= ci_high_nats),
    CHECK ((std_error_nats IS NULL) = (ci_low_nats IS NULL) AND (ci_low_nats IS NULL) = (ci_high_nats IS NULL))
);
COMMENT ON TABLE estimates IS 'One row per estimate, never changed once written. Key: estimate_id, a hash of study, measure, mode, x, y, z, estimator, corpora, models and seed; so running again adds no row.';
COMMENT ON COLUMN estimates.estimate_id IS 'Hash of the natural key.';
COMMENT ON COLUMN estimates.study IS 'Name of the study that first recorded it.';
COMMENT ON COLUMN estimates.measure IS 'mutual_information, conditional_mutual_information, entropy, kl_divergence, jensen_shannon_divergence, total_correlation, dual_total_correlation or o_information.';
COMMENT ON COLUMN estimates.mode IS 'whole (x as it is), keep (the window x alone) or remove (what is lost without the window x).';
COMMENT ON COLUMN estimates.x IS 'Block expression, such as promoter, promoter[39] or promoter[39:45] (from 0, half open).';
COMMENT ON COLUMN estimates.y IS 'Block expression of the other side; empty where the measure has none.';
COMMENT ON COLUMN estimates.z IS 'Block expression of the condition; empty where there is none.';
COMMENT ON COLUMN estimates.estimator IS 'loss_difference (the default), dynkin (same model, other formula), or a baseline: plug_in, miller_madow, per_position_plug_in.';
COMMENT ON COLUMN estimates.value_nats IS 'The estimate, in nats; never clipped, so it may be negative.';
COMMENT ON COLUMN estimates.std_error_nats IS 'Standard error, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN estimates.ci_low_nats IS 'Lower end of the 95 % interval, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN estimates.ci_high_nats IS 'Upper end of the 95 % interval, in nats; NULL where the estimator has none.';
COMMENT ON COLUMN estimates.n_samples IS 'Number of draws the estimate rests on.';
COMMENT ON COLUMN estimates.corpus_id IS 'Corpus it was estimated on: corpora.corpus_id.';
COMMENT ON COLUMN estimates.model_id IS 'Model it was read off: score_models.model_id; NULL where no model was used.';
COMMENT ON COLUMN estimates.reference_corpus_id IS 'The other corpus of a divergence: corpora.corpus_id; NULL elsewhere.';
COMMENT ON COLUMN estimates.reference_model_id IS 'The other model of a divergence: score_models.model_id; NULL elsewhere.';
COMMENT ON COLUMN estimates.seed IS 'Seed of training and estimation.';
COMMENT ON COLUMN estimates.terminal_kl_nats IS 'Terminal term KL(p_1||q_1) that is part of the value, in nats.';
COMMENT ON COLUMN estimates.warnings IS 'Sentences that say why the number should be doubted; an empty list where there is no reason.';
COMMENT ON COLUMN estimates.diagnostics IS 'Map: name of a diagnostic -> its number; nats where the name ends in _nats.';
COMMENT ON COLUMN estimates.created_at IS 'When the row was written (UTC).';

CREATE TABLE run_estimates (
    run_id VARCHAR NOT NULL,
    estimate_id VARCHAR NOT NULL,
    reused BOOLEAN NOT NULL,
    PRIMARY KEY (run_id, estimate_id)
);
COMMENT ON TABLE run_estimates IS 'One row per estimate that a run showed. Key: run_id and estimate_id.';
COMMENT ON COLUMN run_estimates.run_id IS 'The run: runs.run_id.';
COMMENT ON COLUMN run_estimates.estimate_id IS 'The estimate: estimates.estimate_id.';
COMMENT ON COLUMN run_estimates.reused IS 'True where the run found the estimate stored, false where it computed it.';

CREATE TABLE pointwise (
    estimate_id VARCHAR NOT NULL,
    sequence_index BIGINT NOT NULL CHECK (sequence_index >= 0),
    sequence_id VARCHAR,
    value_nats DOUBLE NOT NULL CHECK (value_nats > '-inf'::DOUBLE AND value_nats < 'inf'::DOUBLE)
);
COMMENT ON TABLE pointwise IS 'One row per sequence of an estimate: what it contributes; the (weighted) mean is the estimate. Key: estimate_id and sequence_index, kept unique by the writer (an index over millions of rows would cost more than it guards).';
COMMENT ON COLUMN pointwise.estimate_id IS 'The estimate: estimates.estimate_id.';
COMMENT ON COLUMN pointwise.sequence_index IS 'Row of the corpus, from 0.';
COMMENT ON COLUMN pointwise.sequence_id IS 'Identifier of the sequence in its source, not always unique; NULL where the source has none.';
COMMENT ON COLUMN pointwise.value_nats IS 'Pointwise value, in nats; may be negative.';

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
    bound VARCHAR NOT NULL CHECK (bound IN ('exact', 'lower', 'upper')),
    value_nats DOUBLE NOT NULL CHECK (value_nats > '-inf'::DOUBLE AND value_nats < 'inf'::DOUBLE),
    source VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, corpus_id, measure, mode, x, y, z, bound)
);
COMMENT ON TABLE truths IS 'One row per known answer about a corpus. Key: study, corpus_id, measure, mode, x, y, z and bound; a corrected value replaces the old one.';
COMMENT ON COLUMN truths.study IS 'Study the answer belongs to.';
COMMENT ON COLUMN truths.corpus_id IS 'Corpus it is about: corpora.corpus_id.';
COMMENT ON COLUMN truths.measure IS 'Measure, named as in estimates.measure.';
COMMENT ON COLUMN truths.mode IS 'whole, keep or remove, as in estimates.mode.';
COMMENT ON COLUMN truths.x IS 'Block expression, as in estimates.x.';
COMMENT ON COLUMN truths.y IS 'Block expression, as in estimates.y.';
COMMENT ON COLUMN truths.z IS 'Block expression, as in estimates.z.';
COMMENT ON COLUMN truths.bound IS 'exact: the value is the truth; lower or upper: the truth is at least or at most the value.';
COMMENT ON COLUMN truths.value_nats IS 'The known answer, in nats.';
COMMENT ON COLUMN truths.source IS 'Why it is known: a formula, an enumeration, a publication.';
COMMENT ON COLUMN truths.created_at IS 'When the row was last written (UTC).';

CREATE TABLE checks (
    check_id VARCHAR PRIMARY KEY CHECK (check_id <> ''),
    run_id VARCHAR,
    study VARCHAR NOT NULL CHECK (study <> ''),
    corpus_id VARCHAR NOT NULL,
    model_id VARCHAR,
    seed BIGINT NOT NULL,
    name VARCHAR NOT NULL CHECK (name <> ''),
    claim VARCHAR NOT NULL,
    passed BOOLEAN NOT NULL,
    observed_nats DOUBLE CHECK (observed_nats > '-inf'::DOUBLE AND observed_nats < 'inf'::DOUBLE),
    expected_nats DOUBLE CHECK (expected_nats > '-inf'::DOUBLE AND expected_nats < 'inf'::DOUBLE),
    tolerance_nats DOUBLE CHECK (tolerance_nats >= 0 AND tolerance_nats < 'inf'::DOUBLE),
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE checks IS 'One row per consistency check, with its last outcome. Key: check_id, a hash of study, corpus, model, seed and name.';
COMMENT ON COLUMN checks.check_id IS 'Hash of the natural key.';
COMMENT ON COLUMN checks.run_id IS 'Run that made the outcome: runs.run_id; NULL where there was none.';
COMMENT ON COLUMN checks.study IS 'Study that was checked.';
COMMENT ON COLUMN checks.corpus_id IS 'Corpus it was checked on: corpora.corpus_id.';
COMMENT ON COLUMN checks.model_id IS 'Model that was checked: score_models.model_id; NULL where none was used.';
COMMENT ON COLUMN checks.seed IS 'Seed of the check.';
COMMENT ON COLUMN checks.name IS 'Short name of the check, such as data_processing.';
COMMENT ON COLUMN checks.claim IS 'What should hold, in words.';
COMMENT ON COLUMN checks.passed IS 'True where it held.';
COMMENT ON COLUMN checks.observed_nats IS 'What was seen, in nats; NULL where the check has no number.';
COMMENT ON COLUMN checks.expected_nats IS 'What was expected, or the bound, in nats; NULL where the check has no number.';
COMMENT ON COLUMN checks.tolerance_nats IS 'How far the two may be apart, in nats; NULL where the check has no number.';
COMMENT ON COLUMN checks.created_at IS 'When the row was last written (UTC).';

CREATE TABLE external_scores (
    study VARCHAR NOT NULL CHECK (study <> ''),
    corpus_name VARCHAR NOT NULL CHECK (corpus_name <> ''),
    score VARCHAR NOT NULL CHECK (score <> ''),
    value DOUBLE NOT NULL CHECK (value > '-inf'::DOUBLE AND value < 'inf'::DOUBLE),
    unit VARCHAR NOT NULL CHECK (unit <> ''),
    higher_is_better BOOLEAN NOT NULL,
    source VARCHAR NOT NULL,
    created_at TIMESTAMP NOT NULL,
    PRIMARY KEY (study, corpus_name, score)
);
COMMENT ON TABLE external_scores IS 'One row per score that someone else gave to a corpus, such as experts to the summaries of one system. Key: study, corpus_name and score; a corrected value replaces the old one.';
COMMENT ON COLUMN external_scores.study IS 'Study the score belongs to.';
COMMENT ON COLUMN external_scores.corpus_name IS 'Name of the corpus that was scored: corpora.name.';
COMMENT ON COLUMN external_scores.score IS 'What was scored, such as consistency.';
COMMENT ON COLUMN external_scores.value IS 'The score, in the unit that column unit names.';
COMMENT ON COLUMN external_scores.unit IS 'Unit of the value, such as points (1 to 5) or nats.';
COMMENT ON COLUMN external_scores.higher_is_better IS 'True where a higher score is a better one.';
COMMENT ON COLUMN external_scores.source IS 'Who gave the score.';
COMMENT ON COLUMN external_scores.created_at IS 'When the row was last written (UTC).';

CREATE TABLE latest_index (
    quantity_id VARCHAR PRIMARY KEY,
    scope VARCHAR NOT NULL CHECK (scope IN ('corpus', 'name')),
    estimate_id VARCHAR NOT NULL,
    shown_at TIMESTAMP NOT NULL,
    created_at TIMESTAMP NOT NULL
);
COMMENT ON TABLE latest_index IS 'One row per quantity: which estimate of it was shown last. Derived from estimates, run_estimates and runs, and kept by the writer so that views need not sort the whole history. Key: quantity_id.';
COMMENT ON COLUMN latest_index.quantity_id IS 'Hash of scope, study, corpus (its id or its name), measure, mode, x, y, z and estimator.';
COMMENT ON COLUMN latest_index.scope IS 'corpus: the last one for a corpus content; name: the last one for a corpus name.';
COMMENT ON COLUMN latest_index.estimate_id IS 'The estimate: estimates.estimate_id.';
COMMENT ON COLUMN latest_index.shown_at IS 'When the last run that showed it started (UTC).';
COMMENT ON COLUMN latest_index.created_at IS 'When the estimate was written (UTC); decides between estimates of one run.';
