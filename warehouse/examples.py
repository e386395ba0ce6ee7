"""Ten queries that people need, with the question each answers; tests run them and the docs print them."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Example:
    """A query under a name, and the question it answers."""

    name: str
    question: str
    sql: str


EXAMPLES = (
    Example(
        "headline",
        "How many nats does one block carry about another, and how sure is that?",
        """
SELECT study, corpus_name, x, y, value_nats, std_error_nats, ci_low_nats, ci_high_nats, value_bits,
       n_samples, warnings
FROM latest_estimates
WHERE measure = 'mutual_information' AND mode = 'whole' AND estimator = 'loss_difference'
ORDER BY study, corpus_name, value_nats DESC
""",
    ),
    Example(
        "side_by_side",
        "Do the two formulas agree, and what would counting have said (it saturates near ln n)?",
        """
SELECT study, corpus_name, reference.name AS reference_name, measure, x, y, z,
       max(value_nats) FILTER (WHERE estimator = 'loss_difference') AS loss_difference_nats,
       max(value_nats) FILTER (WHERE estimator = 'dynkin') AS dynkin_nats,
       max(value_nats) FILTER (WHERE estimator = 'plug_in') AS plug_in_nats,
       max(diagnostics['ln_n']) AS ln_n
FROM latest_estimates AS e
LEFT JOIN corpora AS reference ON reference.corpus_id = e.reference_corpus_id
WHERE mode = 'whole'
GROUP BY study, corpus_name, reference_name, measure, x, y, z
ORDER BY study, corpus_name, reference_name, measure, x
""",
    ),
    Example(
        "top_windows",
        "Where along the sequence does the information sit?",
        """
SELECT study, corpus_id, y, window_start, window_stop, value_nats, std_error_nats
FROM information_profile
WHERE mode = 'keep' AND estimator = 'loss_difference'
ORDER BY value_nats DESC
LIMIT 10
""",
    ),
    Example(
        "sequences_that_carry_most",
        "Which sequences carry most of it?",
        """
SELECT e.study, p.sequence_index, p.sequence_id, p.value_nats
FROM pointwise AS p
JOIN latest_estimates AS e ON e.estimate_id = p.estimate_id
ORDER BY p.value_nats DESC
LIMIT 10
""",
    ),
    Example(
        "changes",
        "What changed against the previous run of the same study?",
        """
SELECT study, corpus_name, reference_name, measure, mode, x, y, previous_value_nats, value_nats, change_nats,
       change_nats / nullif(change_std_error_nats, 0) AS change_in_std_errors
FROM estimate_changes
WHERE estimator = 'loss_difference' AND previous_run_id IS NOT NULL
ORDER BY started_at DESC, abs(change_nats) DESC
LIMIT 20
""",
    ),
    Example(
        "against_truths",
        "How far are the estimates from what is known?",
        """
SELECT study, corpus_name, measure, x, y, estimator, truth_nats, value_nats, error_nats, relative_error, agrees
FROM estimates_against_truths
WHERE bound = 'exact'
ORDER BY study, corpus_name, measure, reference_corpus_id, abs(error_nats)
""",
    ),
    Example(
        "entropy_per_token",
        "How much entropy is there per token, and how far below uniform tokens is it?",
        """
SELECT study, corpus_name, x, z, n_tokens, value_nats_per_token, ceiling_nats_per_token, value_bits_per_token
FROM entropy_per_token
WHERE estimator = 'loss_difference'
ORDER BY study, corpus_name, x
""",
    ),
    Example(
        "summarisers",
        "Does the information rank the summarisers as the experts do (1: the same order)?",
        """
SELECT study, measure, x, y, score, n_ranked, corr(rank_by_information, rank_by_score) AS rank_correlation
FROM summariser_ranking
GROUP BY study, measure, x, y, score, n_ranked
ORDER BY study, score
""",
    ),
    Example(
        "models",
        "Which models are there, what did they cost, and which was warm-started from which?",
        """
SELECT corpus_name, root_model_id, generation, model_id, network, n_parameters, train_seconds,
       held_out_loss_nats, created_at
FROM model_lineage
ORDER BY corpus_name, root_model_id, generation, created_at
""",
    ),
    Example(
        "runs",
        "What did each run cost, what could it reuse, and what went wrong?",
        """
SELECT c.study, c.run_number, c.status, c.started_at, c.run_seconds, c.train_seconds,
       c.n_models_trained, c.n_estimates_computed, c.n_estimates_reused, h.error
FROM run_costs AS c
JOIN run_history AS h ON h.run_id = c.run_id
ORDER BY c.started_at DESC
""",
    ),
)


def examples() -> tuple[Example, ...]:
    """The ten queries, ready to run; each ends without a semicolon."""
    return tuple(Example(e.name, e.question, e.sql.strip()) for e in EXAMPLES)
