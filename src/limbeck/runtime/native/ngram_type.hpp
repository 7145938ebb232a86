// The Python type of the reader of n-grams.
#pragma once

#include "arguments.hpp"

namespace limbeck {

// Adds the type to the module; -1 if that fails, as Python has it.
int add_ngram_type(PyObject* module);

}  // namespace limbeck
