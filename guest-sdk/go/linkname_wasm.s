// SPDX-License-Identifier: Apache-2.0

// An assembly file lets memory_wasip1.go declare a function that package
// runtime defines.
