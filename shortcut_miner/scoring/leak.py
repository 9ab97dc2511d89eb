"""How far the answers of a set of questions can be guessed from their text alone, or from objects' names.

Whoever sees no image can't do better than the most frequent answer, unless the text gives the answer away. A
linear classifier tries: it is fitted on the questions of some images and asked about those of the others.
"""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from shortcut_miner.errors import ConfigError, check_no_problems, missing_library
from shortcut_miner.keyed_draws import id_keys

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

WORDS = r"(?u)[\w']+"
LONGEST_GRAM = 3
# Columns that n-grams are hashed to; two that share one are told apart no longer.
HASHED_TO = 2**18
# Weak evidence is shrunk hard: with C = 1 the noise of rare n-grams hides what the prior tells.
INVERSE_PENALTY = 0.01
# Of more than two answers these are tried, each against all others, by support vectors, which are quick with
# many; so are names of objects, of which one alone may tell the answer.
MOST_ANSWERS = 100
INVERSE_PENALTY_OF_VECTORS = 0.02
MOST_FOLDS = 100
# Rows without any knowledge that a word's own answers are mixed with.
STRENGTH = 2.0
_SCHEMA = {"group": pl.String, "rows": pl.UInt32, "accuracy": pl.Float64, "majority": pl.Float64}


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Columns of a set that asks about answers to other questions, such as "Is the bus red?".

    Attributes
    ----------
    context : str
        The column of the question that was answered, such as "What color is the bus?".
    given : str
        Its answer.
    asked : str
        The answer that the set asks about.
    """

    context: str
    given: str
    asked: str


def leak_check(
    rows: pl.DataFrame,
    *,
    text: str | None = "question",
    objects: str | None = None,
    label: str = "answer",
    clusters: str = "image_id",
    by: str | None = None,
    prior: Prior | None = None,
    folds: int = 5,
    seed: int = 0,
) -> pl.DataFrame:
    """Return how many answers a classifier gets right without images, beside the most frequent one's share.

    Parameters
    ----------
    rows : pl.DataFrame
        A row a question, without nulls in the columns named here; their order does not matter.
    text : str or None
        Column of the question; None leaves it out.
    objects : str, optional
        Column of names of objects, List[String]; null is an image without any.
    label : str
        Column of what is to be guessed.
    clusters : str
        Column of the image: all rows of one are in the same fold.
    by : str, optional
        Column of groups that are judged each on its own; all rows together without it.
    prior : Prior, optional
        Where the text asks about answers: also tell the classifier how much more often each word of the
        original question goes with the answer asked for than all questions do, as far as other folds say.
    folds : int
        How many; each is guessed by what was learned from the others.
    seed : int
        Of the folds.

    Returns
    -------
    pl.DataFrame
        group String ("all" without `by`), rows UInt32, accuracy and majority Float64: percent, rounded to a
        tenth, since libraries and processors differ in last digits. Accuracy is null where a group has less
        than two folds with rows. Sorted by group.

    Raises
    ------
    BackendError
        scikit-learn is missing.
    SchemaError
        A column is missing or has nulls.
    ConfigError
        Fewer than two folds or more than MOST_FOLDS, or nothing to guess from.

    Notes
    -----
    Logistic regression over hashed 1- to 3-grams (present or not), as hypothesis-only baselines are: Poliak
    et al., "Hypothesis Only Baselines in Natural Language Inference" (*SEM 2018). More than two answers, and
    any where names of objects are known, are told by linear support vectors, one against the rest for the
    hundred most frequent ones: as good here, in a fiftieth of the time. Where labels are balanced
    exactly within small groups, the others tell the opposite of what is left out: accuracy then falls below
    50%, which is no leak.

    Examples
    --------
    >>> table = pl.DataFrame({
    ...     "image_id": [str(n) for n in range(200)],
    ...     "question": ["Is it a cat?", "Is it a dog?"] * 100, "answer": ["yes", "no"] * 100,
    ... })
    >>> leak_check(table).rows()
    [('all', 200, 100.0, 50.0)]
    """
    check_scikit_learn()
    if not 2 <= folds <= MOST_FOLDS:
        raise ConfigError(f"folds: got {folds}, expected 2 to {MOST_FOLDS}. The usual number is 5.")
    if text is None and objects is None:
        raise ConfigError("text, objects: got neither, expected one to guess from. Give a column.")
    wanted = [*([text] if text else []), label, clusters, *([by] if by else [])]
    wanted += [prior.context, prior.given, prior.asked] if prior else []
    _check_columns(rows, wanted)
    if objects is not None:
        rows = rows.with_columns(pl.col(objects).fill_null([]).list.unique().list.sort())
        wanted.append(objects)
    # A solver's last digits may depend on the order of rows.
    rows = rows.select(*dict.fromkeys(wanted)).sort(pl.all())
    fold = (id_keys(rows[clusters], seed, "leak fold") % np.uint64(folds)).astype(np.int64)
    groups = rows[by] if by else pl.repeat("all", len(rows), dtype=pl.String, eager=True)
    found = []
    for name in groups.unique().sort():
        own = (groups == name).to_numpy()
        part = rows.filter(pl.Series(own))
        known = [_present_grams(part[text])] if text else []
        known += [_present_names(part[objects])] if objects else []
        model = _support_vectors if objects or part[label].n_unique() > 2 else _logistic_regression
        counts = _counts(part, prior, fold[own], folds)
        right = _guessed_right(model, known, part[label], fold[own], folds, counts)
        most = int(part[label].value_counts()["count"].max())  # type: ignore[arg-type]
        share = None if right is None else round(100 * right / len(part), 1)
        found.append((str(name), len(part), share, round(100 * most / len(part), 1)))
    return pl.DataFrame(found, schema=_SCHEMA, orient="row")


def check_scikit_learn() -> None:
    """Raise BackendError unless scikit-learn can be used."""
    try:
        import sklearn  # noqa: F401
    except ImportError as error:
        raise missing_library("leak check", "scikit-learn", "leak") from error


def leak_record(found: pl.DataFrame, command: str) -> dict[str, Any]:
    """Return what ``leak.json`` says: what :func:`leak_check` found, of which command's rows, and by what."""
    return {
        "package": "shortcut_miner",
        "command": command,
        "classifier": {
            "name": "logistic regression over hashed n-grams, cross-fitted by image",
            "scikit_learn": version("scikit-learn"),
            "longest_gram": LONGEST_GRAM,
            "hashed_to": HASHED_TO,
            "inverse_penalty": INVERSE_PENALTY,
            "of_more_than_two_answers_or_with_objects": "linear support vectors, one against the rest",
            "most_answers": MOST_ANSWERS,
            "inverse_penalty_of_vectors": INVERSE_PENALTY_OF_VECTORS,
        },
        "leak": found.to_dicts(),
    }


def leak_text(row: Mapping[str, Any]) -> str:
    """Return one row of :func:`leak_check` as the console prints it.

    >>> leak_text({"group": "colors", "rows": 2383, "accuracy": 66.6, "majority": 50.4})
    'text alone tells 66.6% of 2,383 answers, the most frequent one 50.4%'
    """
    told = "-" if row["accuracy"] is None else f"{row['accuracy']:.1f}%"
    return f"text alone tells {told} of {row['rows']:,} answers, the most frequent one {row['majority']:.1f}%"


def _check_columns(rows: pl.DataFrame, wanted: Sequence[str]) -> None:
    problems = [f"no column {name}" for name in wanted if name not in rows.columns]
    problems += [
        f"{rows[name].null_count():,} x null in column {name}"
        for name in wanted
        if name in rows.columns and rows[name].null_count()
    ]
    check_no_problems(problems, "rows of a leak check", f"{', '.join(wanted)} without nulls")


def _guessed_right(
    model: Callable[[], Any],
    known: Sequence[Any],
    labels: pl.Series,
    fold: Ints,
    folds: int,
    counts: "_AnswerCounts | None",
) -> int | None:
    """Return how many labels are guessed right; None where no fold has others to learn from."""
    from scipy.sparse import hstack

    grams, kinds = hstack(known, format="csr"), labels.to_numpy()
    if len(np.unique(fold)) < 2:
        return None
    right = 0
    for held_out in np.unique(fold):
        learned, asked = np.flatnonzero(fold != held_out), np.flatnonzero(fold == held_out)
        columns = _joined(grams, None if counts is None else counts.features(int(held_out), folds), learned)
        right += int((_guesses(model(), columns, kinds, learned, asked) == kinds[asked]).sum())
    return right


def _guesses(model: Any, columns: Any, labels: NDArray[Any], learned: Ints, asked: Ints) -> NDArray[Any]:
    known, often = np.unique(labels[learned], return_counts=True)
    if len(known) == 1 or columns.shape[1] == 0:
        return np.full(len(asked), known[often.argmax()])
    tried = known[np.argsort(-often, kind="stable")[:MOST_ANSWERS]]
    learned = learned[np.isin(labels[learned], tried)]
    with warnings.catch_warnings():  # of numbers that might be meant as such: these are names
        warnings.filterwarnings("ignore", "The number of unique classes", UserWarning)
        guesses: NDArray[Any] = model.fit(columns[learned], labels[learned]).predict(columns[asked])
    return guesses


def _logistic_regression() -> Any:
    from sklearn.linear_model import LogisticRegression

    return LogisticRegression(C=INVERSE_PENALTY, max_iter=1000)


def _support_vectors() -> Any:
    from sklearn.svm import LinearSVC

    return LinearSVC(C=INVERSE_PENALTY_OF_VECTORS, random_state=0)


def _present_grams(texts: pl.Series) -> Any:
    """Return which n-grams each text has: a sparse array, texts x n-grams that occur more than once."""
    from sklearn.feature_extraction.text import HashingVectorizer

    hashed = HashingVectorizer(
        ngram_range=(1, LONGEST_GRAM), n_features=HASHED_TO, binary=True,
        alternate_sign=False, norm=None, token_pattern=WORDS,
    ).transform(texts.to_list())  # fmt: skip
    often = np.flatnonzero(np.bincount(hashed.indices, minlength=HASHED_TO) > 1)
    return hashed[:, often]


def _present_names(lists: pl.Series) -> Any:
    """Return which names each list has: a sparse array, lists x names that occur more than once."""
    from scipy.sparse import csr_matrix

    ends = lists.list.len().cum_sum().to_numpy()
    names = lists.explode(empty_as_null=False).cast(pl.String)
    codes = names.rank("dense").to_numpy().astype(np.int64) - 1
    shape = (len(lists), int(codes.max(initial=-1)) + 1)
    held = csr_matrix((np.ones(len(codes)), codes, np.concatenate([[0], ends])), shape=shape)
    return held[:, np.flatnonzero(np.bincount(codes, minlength=shape[1]) > 1)]


def _joined(grams: Any, features: Floats | None, learned: Ints) -> Any:
    """Return n-grams and features side by side, the features in standard deviations of what is learned."""
    from scipy.sparse import csr_matrix, hstack

    if features is None:
        return grams
    own = features[learned]
    scaled = (features - own.mean(axis=0)) / (own.std(axis=0) + 1e-9)
    return hstack([grams, csr_matrix(scaled)], format="csr")


# ---- the prior ----


def _counts(rows: pl.DataFrame, prior: Prior | None, fold: Ints, folds: int) -> "_AnswerCounts | None":
    if prior is None:
        return None
    given, asked = (rows[name].cast(pl.String) for name in (prior.given, prior.asked))
    return _AnswerCounts.of(_present_grams(rows[prior.context]), given, asked, fold, folds)


@dataclass(frozen=True, slots=True, eq=False)
class _AnswerCounts:
    """How often each n-gram of the original questions went with each answer, by fold.

    Attributes
    ----------
    row, gram, pair : ndarray of int64
        Each n-gram of each row: its row, its number, and the number of (n-gram, answer asked for).
    with_gram, with_pair, with_answer : ndarray of int64
        Folds x n-grams, folds x pairs, folds x answers: rows that were given so.
    asked, fold : ndarray of int64
        Each row's answer asked for, and its fold.
    """

    row: Ints
    gram: Ints
    pair: Ints
    with_gram: Ints
    with_pair: Ints
    with_answer: Ints
    asked: Ints
    fold: Ints

    @classmethod
    def of(cls, grams: Any, given: pl.Series, asked: pl.Series, fold: Ints, folds: int) -> "_AnswerCounts":
        names = pl.concat([given.rename("a"), asked.rename("a")])
        codes = names.rank("dense").to_numpy().astype(np.int64) - 1
        own, other = codes[: len(given)], codes[len(given) :]
        row = np.repeat(np.arange(len(given)), np.diff(grams.indptr))
        gram = grams.indices.astype(np.int64)
        answers, width = int(codes.max(initial=0)) + 1, grams.shape[1]
        keys = np.concatenate([gram * answers + own[row], gram * answers + other[row]])
        distinct, at = np.unique(keys, return_inverse=True)
        was_given, is_asked = at[: len(row)], at[len(row) :]
        return cls(
            row, gram, is_asked,
            _by_fold(fold[row], gram, folds, width),
            _by_fold(fold[row], was_given, folds, len(distinct)),
            _by_fold(fold, own, folds, answers),
            other, fold,
        )  # fmt: skip

    def features(self, held_out: int, folds: int) -> Floats:
        """Return what other folds tell of each row: rows x features.

        Rows that are learned from are told by the folds that are neither their own nor held out; otherwise a
        "yes" would be told by its own answer.
        """
        found = np.zeros((len(self.asked), 5))
        for own in range(folds):
            told_by = [one for one in range(folds) if one not in (own, held_out)]
            rows = self.fold == own
            if rows.any() and told_by:
                found[rows] = self._told(told_by, rows)
        return found

    def _told(self, by: Sequence[int], rows: NDArray[np.bool_]) -> Floats:
        """Return the log ratios of P(asked | n-gram) to P(asked): mean, weighted mean, most, least; log P."""
        answers = self.with_answer[by].sum(axis=0)
        share = (answers + 0.5) / (answers.sum() + 0.5 * len(answers))
        chosen = rows[self.row]
        row = (np.cumsum(rows) - 1)[self.row[chosen]]
        expected = share[self.asked[self.row[chosen]]]
        both = self.with_pair[by].sum(axis=0)[self.pair[chosen]]
        alone = self.with_gram[by].sum(axis=0)[self.gram[chosen]]
        ratio = np.log((both + STRENGTH * expected) / (alone + STRENGTH) / expected)
        count = int(rows.sum())
        most, least = np.zeros(count), np.zeros(count)
        np.maximum.at(most, row, ratio)
        np.minimum.at(least, row, ratio)
        means = [
            np.bincount(row, ratio * weight, count) / np.maximum(np.bincount(row, weight, count), 1e-9)
            for weight in (np.ones(len(row)), np.sqrt(alone))
        ]
        return np.stack([*means, most, least, np.log(share[self.asked[rows]])], axis=1)


def _by_fold(fold: Ints, code: Ints, folds: int, width: int) -> Ints:
    return np.bincount(fold * width + code, minlength=folds * width).reshape(folds, width)
