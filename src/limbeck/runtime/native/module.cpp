// The Python module: three types with the same two methods, the reader of n-grams, decisions, and the level of the CPU.
#include <cstring>
#include <exception>

#include "building.hpp"
#include "cpu.hpp"
#include "decisions.hpp"
#include "ngram_type.hpp"
#include "python_errors.hpp"

namespace limbeck {

namespace {

struct Object {
    PyObject_HEAD
    Built* built;
};

template <Built (*BUILT)(PyObject*, PyObject*)>
PyObject* make(PyTypeObject* type, PyObject* positional, PyObject* keywords) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        auto built = std::make_unique<Built>(BUILT(positional, keywords));
        auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
        PyObject* object = allocate(type, 0);
        if (object != nullptr) reinterpret_cast<Object*>(object)->built = built.release();
        return object;
    });
}

void destroy(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete reinterpret_cast<Object*>(object)->built;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

// The ids of all texts, row by row, copied so that Python may go on without them. Used again by the next call.
struct Ids {
    std::vector<std::int32_t> ids;
    std::vector<Text> texts;

    void add(PyObject* row, long words) {
        if (PyBytes_Check(row)) return add_bytes(row, words);
        const Py_ssize_t length = PyList_Check(row) ? PyList_Size(row) : -1;
        if (length < 0) throw TypeMistake("a text must be a list of ints");
        if (length == 0) throw std::invalid_argument("a text has no tokens");
        for (Py_ssize_t place = 0; place < length; ++place) {
            PyObject* item = PyList_GetItem(row, place);
            // Anything else may run Python code to become an int, which may do anything, with this very list too.
            if (!PyLong_Check(item)) throw TypeMistake("a text must be a list of ints");
            const long id = PyLong_AsLong(item);
            if (id == -1 && PyErr_Occurred()) refuse_large();
            if (id < 0 || id >= words) refuse(id, words);
            ids.push_back(static_cast<std::int32_t>(id));
        }
        texts.push_back({nullptr, static_cast<long>(length)});
    }

    // Numbers of 32 bits, as the reader of n-grams gives them: a text has hundreds.
    void add_bytes(PyObject* row, long words) {
        const std::size_t bytes = static_cast<std::size_t>(PyBytes_Size(row)), first = ids.size();
        if (bytes % sizeof(std::int32_t) != 0) throw std::invalid_argument("a text has half an id");
        if (bytes == 0) throw std::invalid_argument("a text has no tokens");
        ids.resize(first + bytes / sizeof(std::int32_t));
        std::memcpy(&ids[first], PyBytes_AsString(row), bytes);
        for (std::size_t place = first; place < ids.size(); ++place)
            if (ids[place] < 0 || ids[place] >= words) refuse(ids[place], words);
        texts.push_back({nullptr, static_cast<long>(ids.size() - first)});
    }

    [[noreturn]] static void refuse(long id, long words) {
        throw std::invalid_argument("no such word: " + std::to_string(id) + " of " + std::to_string(words));
    }

    [[noreturn]] static void refuse_large() {
        PyErr_Clear();
        throw std::invalid_argument("no such word: the id is beyond all bounds");
    }

    void copy(PyObject* columns, const Student& student) {
        constexpr std::size_t MOST_KEPT = 1 << 20;
        if (ids.capacity() > MOST_KEPT) ids = {};
        if (texts.capacity() > MOST_KEPT) texts = {};
        ids.clear(), texts.clear();
        if (!PyList_Check(columns)) throw TypeMistake("columns must be a list");
        if (PyList_Size(columns) != student.columns())
            throw std::invalid_argument("the model reads " + std::to_string(student.columns()) + " texts a row");
        PyObject *first = PyList_GetItem(columns, 0), *last = PyList_GetItem(columns, student.columns() - 1);
        if (!PyList_Check(first) || !PyList_Check(last)) throw TypeMistake("a column must be a list of texts");
        if (PyList_Size(first) != PyList_Size(last)) throw std::invalid_argument("columns have not the same length");
        for (Py_ssize_t row = 0; row < PyList_Size(first); ++row) {
            add(PyList_GetItem(first, row), student.words());
            if (student.columns() > 1) add(PyList_GetItem(last, row), student.words());
        }
        const std::int32_t* start = ids.data();
        for (Text& text : texts) text.ids = start, start += text.length;
    }
};

using Writable = std::unique_ptr<Py_buffer, Releasing>;

Writable writable(PyObject* object) {
    auto view = std::make_unique<Py_buffer>();
    if (PyObject_GetBuffer(object, view.get(), PyBUF_C_CONTIGUOUS | PyBUF_WRITABLE | PyBUF_FORMAT) != 0) {
        PyErr_Clear();
        throw TypeMistake("out must be a writable C-contiguous array");
    }
    return Writable(view.release());
}

// One call: its input, and where the results go.
struct Work {
    const Student* student;
    const Text* texts;
    long rows, threads;
    Py_buffer* out;
};

Work work_of(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    if (count != 3) throw TypeMistake("logits takes columns, out and threads");
    const Student& student = *reinterpret_cast<Object*>(self)->built->student;
    const long threads = PyLong_AsLong(arguments[2]);
    if (threads == -1 && PyErr_Occurred()) throw PythonError();
    Writable out = writable(arguments[1]);
    thread_local Ids ids;  // no code of Python runs on this thread between here and the end of the call
    ids.copy(arguments[0], student);
    const long rows = static_cast<long>(ids.texts.size()) / student.columns();
    const bool fits = out->len == rows * student.classes() * static_cast<long>(sizeof(float));
    if (!fits || out->format == nullptr || std::string(out->format) != "f")
        throw std::invalid_argument("out must hold a float32 for every row and class");
    return {&student, ids.texts.data(), rows, threads, out.release()};
}

// Python ends a daemon thread that wants the GIL back while Python itself ends. All that is on its stack is then tidied
// up without the GIL: here there is nothing of Python's, and no destructor asks for the GIL.
PyObject* logits(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    Work work{};
    if (!as_python_errors(false, [&] { return work = work_of(self, arguments, count), true; })) return nullptr;
    std::exception_ptr failure;
    PyThreadState* state = PyEval_SaveThread();
    try {
        work.student->logits(work.texts, work.rows, static_cast<float*>(work.out->buf), work.threads);
    } catch (...) {
        failure = std::current_exception();
    }
    PyEval_RestoreThread(state);
    Releasing()(work.out);
    return as_python_errors<PyObject*>(nullptr, [&] {
        if (failure) std::rethrow_exception(failure);
        return Py_NewRef(Py_None);
    });
}

PyObject* folded_bytes(PyObject* self, PyObject*) {
    return PyLong_FromLong(reinterpret_cast<Object*>(self)->built->student->folded_bytes());
}

PyObject* level(PyObject*, PyObject*) {
    return as_python_errors<PyObject*>(nullptr, [] {
        const std::string name = levels_here().front();
        return PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
    });
}

PyObject* levels(PyObject*, PyObject*) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        PyObject* list = PyList_New(0);
        if (list == nullptr) throw PythonError();
        for (const std::string& name : levels_here()) {
            PyObject* item = PyUnicode_FromStringAndSize(name.data(), static_cast<Py_ssize_t>(name.size()));
            const bool added = item != nullptr && PyList_Append(list, item) == 0;
            Py_XDECREF(item);
            if (added) continue;
            Py_DECREF(list);
            throw PythonError();
        }
        return list;
    });
}

PyMethodDef METHODS[] = {
    {"logits", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(logits)), METH_FASTCALL,
     "Write the logits of texts into a buffer."},
    {"folded_bytes", folded_bytes, METH_NOARGS, "What the words met so far take up."},
    {nullptr, nullptr, 0, nullptr},
};

template <Built (*BUILT)(PyObject*, PyObject*)>
int add_type(PyObject* module, const char* full_name, const char* name) {
    PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(make<BUILT>)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
        {Py_tp_methods, METHODS},
        {0, nullptr},
    };
    PyType_Spec spec{full_name, sizeof(Object), 0, Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    const int failed = PyModule_AddObjectRef(module, name, type);
    Py_DECREF(type);
    return failed;
}

int fill(PyObject* module) {
    if (add_type<built_recurrent>(module, "limbeck.runtime._native.Recurrent", "Recurrent") != 0) return -1;
    if (add_type<built_convolution>(module, "limbeck.runtime._native.Convolution", "Convolution") != 0) return -1;
    if (add_type<built_bag>(module, "limbeck.runtime._native.Bag", "Bag") != 0) return -1;
    return add_ngram_type(module);
}

PyMethodDef FUNCTIONS[] = {
    {"level", level, METH_NOARGS, "The best level of this CPU."},
    {"levels", levels, METH_NOARGS, "The levels that this CPU has, the best one first."},
    {"decisions", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(decisions)), METH_FASTCALL,
     "The best label of each row, or none."},
    {nullptr, nullptr, 0, nullptr},
};

PyModuleDef_Slot SLOTS[] = {
    {Py_mod_exec, reinterpret_cast<void*>(fill)},
    {0, nullptr},
};

PyModuleDef MODULE = {
    PyModuleDef_HEAD_INIT, "_native", "Students of words, for every level of instructions.", 0, FUNCTIONS, SLOTS,
    nullptr,               nullptr,   nullptr,
};

}  // namespace

}  // namespace limbeck

PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&limbeck::MODULE); }
