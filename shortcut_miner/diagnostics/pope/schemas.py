"""The columns of this room's table of questions."""

import dataframely as dy

from shortcut_miner.schemas import Questions


class PopeQuestions(Questions):
    """Polling questions, one row a question; ``answer`` is its label, "yes" or "no".

    ``question_id`` is the strategy and the question's number in that strategy's file, such as "random_1".
    ``paired_object`` is the other object of its slot, ``slot`` the slot's number in the image, from 1.
    ``rank`` is the place of an absent object by frequency ("popular") or beside the present one
    ("adversarial"), from 1.
    """

    answer = dy.String(nullable=False, regex="^(yes|no)$")
    strategy = dy.String(nullable=False)
    number = dy.UInt32(nullable=False)
    image = dy.String(nullable=False)
    object = dy.String(nullable=True)
    paired_object = dy.String(nullable=True)
    slot = dy.UInt32(nullable=False)
    rank = dy.UInt32(nullable=True)
    is_fallback = dy.Bool(nullable=False)
    doubt = dy.String(nullable=True)
