// Which label a row gets, or none.
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace limbeck {

// decisions(logits, score, temperature, threshold): see _native.pyi.
PyObject* decisions(PyObject*, PyObject* const* arguments, Py_ssize_t count);

}  // namespace limbeck
