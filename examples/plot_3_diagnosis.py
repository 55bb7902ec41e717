"""
Why the coefficients are infinite
=================================

A small table of patients. Logistic regression "fails to converge" on it, or reports a large
coefficient with a far larger standard error. :func:`separatrix.diagnose` says why.
"""

import separatrix as sx

patients = {
    "ward": ["A", "icu", "B", "A", "icu", "B", "A", "B", "icu", "A"],
    "age": [61, 55, 47, 70, 66, 58, 44, 63, 71, 52],
    "died": ["no", "yes", "yes", "yes", "yes", "no", "no", "no", "yes", "yes"],
}

found = sx.diagnose(patients, "died")
print(found)

# %%
# The picture shows where each estimate runs when the likelihood is maximised.

ax = found.plot()

# %%
# The likelihood grows for ever with the coefficient of the ward whose patients all died. The
# others have finite limits.
#
# One more patient, who left that ward alive, and the classes overlap: the estimate exists.

patients["ward"].append("icu")
patients["age"].append(49)
patients["died"].append("no")

again = sx.diagnose(patients, "died")
print(again.kind, again.mle_exists)
