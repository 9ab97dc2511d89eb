"""The columns of this room's tables."""

import dataframely as dy

from shortcut_miner.schemas import Questions


class OodQuestions(Questions):
    """Questions with the group that each belongs to, and whether GQA's balanced set has it.

    ``question`` is null where a table has no texts.
    """

    question = dy.String(nullable=True)
    structural = dy.String(nullable=True)
    semantic = dy.String(nullable=True)
    group = dy.String(nullable=False)
    is_balanced = dy.Bool(nullable=False)


class OodGroups(dy.Schema):
    """Groups of questions: rows, different answers, normalised entropy, and whether it has head and tail."""

    group = dy.String(primary_key=True)
    row_count = dy.UInt64(nullable=False)
    answer_count = dy.UInt64(nullable=False)
    entropy = dy.Float64(nullable=False)
    is_kept = dy.Bool(nullable=False)


class OodSplit(dy.Schema):
    """A question's subset: head, tail, or null where its group is not kept.

    ``answer_share`` is its answer's share of the group's rows, ``tail_alpha`` the least alpha of the sweep at
    which it is tail.
    """

    question_id = dy.String(primary_key=True)
    subset = dy.String(nullable=True, regex="^(head|tail)$")
    group = dy.String(nullable=False)
    answer_share = dy.Float64(nullable=False)
    tail_alpha = dy.Float64(nullable=True)
