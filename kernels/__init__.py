"""Arithmetic: loops printed as LLVM, matrix products, convolution, native code and its cache."""
