"""Nonlinear models: gradient descent and its perceptrons for any PyTorch module with one output.

With g(a; θ) the module's output and θ its parameters, the full-batch methods of the table become one update,

    θ⁺ = θ + (u/N) Σ_i w_i y_i ∇g(a_i; θ) ,    w_i = σ(-(γ/u) y_i g(a_i; θ))  or, at γ = ∞,  1[y_i g(a_i; θ) ≤ 0]

with N = n^p W^(1-p), W = Σ w_i, as for rows. u is the unit of the steps: u = γ, which is plain gradient descent with
step size γ on the logistic loss, unless it is given, and 1 at γ = ∞.

What γ = ∞ is the limit of. With u fixed and γ → ∞ the weights tend to 1[y_i g ≤ 0] wherever no output is 0: the losses
f_γ(θ) = (1/n) Σ (u/γ) log(1 + exp(-(γ/u) y_i g)) tend to the perceptron loss (1/n) Σ max(0, -y_i g), and each step is
one of size u on f_γ, divided by (W/n)^(1-p). For g linear in θ and θ_0 = 0 the path at any u is u times that at u = 1,
so that all this is `walking`'s θ = γφ; for other g it is not: a step of γ is then a long one, and γ = ∞ is the limit of
sharp weights, not of long steps.

Source: A. Tyurin, "Gradient Descent as a Perceptron Algorithm: Understanding Dynamics and Implicit Acceleration",
arXiv 2512.11587, which writes gradient descent on nonlinear models as generalised perceptron steps. Of that paper only
the abstract and the beginning of the introduction could be read; the powers p and the unit u are ours.
"""

from separatrix.nonlinear.run import NetworkIterate, NetworkRun
from separatrix.nonlinear.training import solve

__all__ = ["NetworkIterate", "NetworkRun", "solve"]
