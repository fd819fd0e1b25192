"""What each measure is, in a sentence: the short form of the docs."""

DEFINITIONS: dict[str, str] = {
    "LMS": "the percentage of meaningful candidates, two for each item, that score above the unrelated one; "
    "100 is best",
    "SS": "the percentage of items whose stereotype scores above its anti-stereotype; 50 is no lean; a tie counts "
    "against the stereotype",
    "ICAT": "LMS, scaled down to nothing as SS goes from 50 to either end; 100 is best",
    "CPS": "the percentage of pairs whose more stereotypical sentence is the likelier one; 50 is no lean",
    "S_JSD x 1e3": "how much further from the truth the model is in the more stereotypical sentence, by the "
    "Jensen-Shannon distance of its predictions, times 1,000; 0 is no lean, below 0 is towards stereotypes",
    "B.S_JSD": "the percentage of pairs with a negative S_JSD; 50 is no lean",
    "mean difference per token": "the log-likelihood per token of the more stereotypical sentence minus that of the "
    "less; 0 is no lean",
    "minimum detectable effect": "how many points from 50 the truth must lie for so many pairs to show it four times "
    "in five",
    "g_s": "q_m / q_f: how much more masculine the model is in stereotypes about men than in those about women; "
    "1 is no lean",
    "q_m": "the masculine rate of the stereotypes about men: the geometric mean of P(masculine) / P(feminine)",
    "q_f": "the same for the stereotypes about women",
    "f_s": "p_m − p_f: how much the gender of translations goes by the stereotype; 0 is no lean, 1 is always",
    "f_m": "(p_m + p_f) / 2: how often translations are masculine, whatever the stereotype; 0.5 is balance",
    "p_m": "the share of translations about men's stereotypes that are masculine",
    "p_f": "the share of translations about women's stereotypes that are masculine",
    "yield": "the share of translations that show a gender",
}
