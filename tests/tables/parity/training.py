"""What trains: compared with PyTorch over several steps elsewhere, or by formulas."""

from __future__ import annotations

_STEPS = "compared over six steps in test_optim.py"
_PAPER = "PyTorch lacks it; steps are compared with the paper's formulas in test_optim.py"
_SCHEDULE = "a function of the step's number, compared with its formula in test_schedules.py"
_AROUND = "a Cell around a network and its loss, tested in test_train_model.py"

WITHOUT_PEER = {
    **dict.fromkeys(
        ("nn.ASGD", "nn.AdaFactor", "nn.AdaMax", "nn.Adadelta", "nn.Adagrad", "nn.Adam", "nn.AdamW",
         "nn.LazyAdam", "nn.Momentum", "nn.RMSProp", "nn.Rprop", "nn.SGD"),
        _STEPS,
    ),
    **dict.fromkeys(
        ("nn.AdamWeightDecay", "nn.FTRL", "nn.LARS", "nn.Lamb", "nn.ProximalAdagrad"), _PAPER
    ),
    "nn.Optimizer": "the base of optimizers",
    **dict.fromkeys(
        ("nn.CosineDecayLR", "nn.ExponentialDecayLR", "nn.InverseDecayLR",
         "nn.LearningRateSchedule", "nn.NaturalExpDecayLR", "nn.PolynomialDecayLR", "nn.WarmUpLR"),
        _SCHEDULE,
    ),
    **dict.fromkeys(
        ("nn.DistributedGradReducer", "nn.ForwardValueAndGrad", "nn.TrainOneStepCell",
         "nn.TrainOneStepWithLossScaleCell", "nn.WithEvalCell", "nn.WithLossCell",
         "nn.DynamicLossScaleUpdateCell", "nn.FixedLossScaleUpdateCell"),
        _AROUND,
    ),
    **dict.fromkeys(
        ("ops.adam_update", "ops.momentum_update", "ops.sgd_update"),
        "the step of an optimizer, compared over six steps in test_optim.py",
    ),
    "ops.all_finite": "all of isfinite over several tensors, tested in test_amp.py",
}  # fmt: skip
