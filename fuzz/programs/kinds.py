"""All kinds of operations, and how often each is made."""

import contractions
import control
import elementwise
import indexed
import movement
import reductions

KINDS = {**elementwise.KINDS, **movement.KINDS, **indexed.KINDS, **reductions.KINDS,
         **contractions.KINDS, **control.KINDS}
