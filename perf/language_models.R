# Variance components and language means of crossed answers by lme4, for perf/language_models.py.
# Rscript perf/language_models.R ANSWERS.csv: columns set, value, item, model, language.
suppressMessages(library(lme4))
answers <- read.csv(commandArgs(TRUE)[1], colClasses = c(item = "factor", model = "factor", language = "factor"))
cat("set,name,value,seconds\n")
for (set in unique(answers$set)) {
  one <- answers[answers$set == set, ]
  began <- proc.time()[["elapsed"]]
  fit <- suppressMessages(lmer(
    value ~ 0 + language + (1 | item) + (1 | item:language) + (1 | item:model) + (1 | model) + (1 | model:language),
    data = one, control = lmerControl(calc.derivs = FALSE)
  ))
  seconds <- proc.time()[["elapsed"]] - began
  parts <- as.data.frame(VarCorr(fit))
  beta <- fixef(fit)
  covariance <- as.matrix(vcov(fit))
  difference <- beta[[1]] - beta[[2]]
  error <- sqrt(covariance[1, 1] + covariance[2, 2] - 2 * covariance[1, 2])
  write.table(
    data.frame(
      set, c(parts$grp, names(beta), "difference", "error"), c(parts$vcov, beta, difference, error), seconds
    ),
    sep = ",", row.names = FALSE, col.names = FALSE, quote = FALSE
  )
}
