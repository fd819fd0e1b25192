"""Many runs on many machines: plans of models and benchmarks, jobs, and the engines that start them."""
