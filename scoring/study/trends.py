"""Trends (RQ3): how scores follow the rate, and the rate and block size together."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pandas as pd

from scoring.ratios import BLOCK, MODEL_KEYS, RATE, RATIO_COLUMNS

Floats = npt.NDArray[np.float64]

_BANDS = (
    (0.3, "negligible"),
    (0.5, "low"),
    (0.7, "moderate"),
    (0.9, "high"),
    (np.inf, "very high"),
)


def correlation_band(rho: float) -> str:
    """Return the name of a correlation's strength, by its size; empty for NaN.

    Example:
        >>> [correlation_band(rho) for rho in (0.29, -0.3, 0.5, 0.7, -0.9)]
        ['negligible', 'low', 'moderate', 'high', 'very high']
    """
    if np.isnan(rho):
        return ""
    return next(name for bound, name in _BANDS if abs(rho) < bound)


def spearman(x: Floats, y: Floats) -> tuple[float, float, int]:
    """Return Spearman's rho, its two-sided p value (t approximation), and n.

    Args:
        x: (n,) values; a pair with a NaN is left out.
        y: (n,) values.

    Returns:
        NaN where fewer than 3 pairs are left, or one side is constant.

    Source: scoring.md, section 4, number 5.
    """
    from scipy.stats import spearmanr

    known = ~(np.isnan(x) | np.isnan(y))
    x, y = x[known], y[known]
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return np.nan, np.nan, len(x)
    rho, p_value = spearmanr(x, y)
    return float(rho), float(p_value), len(x)


def spearman_table(dropout_ratio: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and score: its correlation with the rate.

    Args:
        dropout_ratio: `mc_dropout_mutation_ratio.csv`.
    """
    rows = []
    for keys, of_model in dropout_ratio.groupby(list(MODEL_KEYS), sort=False):
        rates = of_model[RATE].to_numpy(np.float64)
        for column in RATIO_COLUMNS:
            rho, p_value, n = spearman(rates, of_model[column].to_numpy(np.float64))
            numbers = {"rho": rho, "p_value": p_value, "band": correlation_band(rho), "n": n}
            rows.append(dict(zip(MODEL_KEYS, keys, strict=True)) | {"metric": column} | numbers)
    return pd.DataFrame(rows)


def plane_fit(rates: Floats, blocks: Floats, values: Floats) -> dict[str, float]:
    """Return the least-squares plane value ~ 1 + rate + block, and how well it fits.

    Args:
        rates: (n,) drop rates.
        blocks: (n,) block sizes.
        values: (n,) a score; a row with a NaN is left out.

    Returns:
        R = sqrt(R^2), the F test of both slopes and its p value, the three coefficients, and n. NaN
        where the rows do not determine a plane and its error, or the score is constant.

    Source: scoring.md, section 4, number 5.
    """
    from statsmodels.regression.linear_model import OLS

    names = ("R", "F", "p_value", "b0", "b_dropout_rate", "b_block_size")
    known = ~np.isnan(values)
    design = np.column_stack([np.ones(known.sum()), rates[known], blocks[known]])
    values = values[known]
    n = len(values)
    if n <= design.shape[1] or np.linalg.matrix_rank(design) < 3 or np.ptp(values) == 0:
        return dict.fromkeys(names, np.nan) | {"n": n}
    fit = OLS(values, design).fit()
    # Points that lie in a plane exactly leave no error to divide by: F is infinite.
    with np.errstate(divide="ignore"):
        numbers = (np.sqrt(max(0.0, fit.rsquared)), fit.fvalue, fit.f_pvalue, *fit.params)
    return {name: float(value) for name, value in zip(names, numbers, strict=True)} | {"n": n}


def plane_table(dropblock_ratio: pd.DataFrame) -> pd.DataFrame:
    """Return one row per model and score: its plane over rate and block size.

    Args:
        dropblock_ratio: `mc_dropblock_mutation_ratio.csv`.
    """
    rows = []
    for keys, of_model in dropblock_ratio.groupby(list(MODEL_KEYS), sort=False):
        rates, blocks = (of_model[key].to_numpy(np.float64) for key in (RATE, BLOCK))
        for column in RATIO_COLUMNS:
            fit = plane_fit(rates, blocks, of_model[column].to_numpy(np.float64))
            rows.append(dict(zip(MODEL_KEYS, keys, strict=True)) | {"metric": column} | fit)
    return pd.DataFrame(rows)
