// Everything here holds the GIL. Nothing that a reader has is in use while Python's own code may run: that may be
// another thread with the same reader.
#include "ngram_type.hpp"

#include "ngram_reader.hpp"
#include "python_errors.hpp"

namespace limbeck {

namespace {

struct Object {
    PyObject_HEAD
    NgramReader* reader;
};

NgramReader& reader_of(PyObject* self) { return *reinterpret_cast<Object*>(self)->reader; }

struct Forgetting {
    void operator()(PyObject* object) const { Py_DECREF(object); }
};
using Reference = std::unique_ptr<PyObject, Forgetting>;

Reference owned(PyObject* object) {
    if (object == nullptr) throw PythonError();
    return Reference(object);
}

PyObject* make(PyTypeObject* type, PyObject* positional, PyObject* keywords) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        const Arguments arguments(positional, keywords, {"buckets", "words", "shortest", "longest", "nothing"});
        const NgramSettings settings{arguments.number("buckets", 0), arguments.number("words", 2),
                                     arguments.number("shortest", 2), arguments.number("longest", 5)};
        auto reader = std::make_unique<NgramReader>(settings, static_cast<std::int32_t>(arguments.number("nothing", 1)));
        auto allocate = reinterpret_cast<allocfunc>(PyType_GetSlot(type, Py_tp_alloc));
        PyObject* object = allocate(type, 0);
        if (object != nullptr) reinterpret_cast<Object*>(object)->reader = reader.release();
        return object;
    });
}

void destroy(PyObject* object) {
    PyTypeObject* type = Py_TYPE(object);
    delete reinterpret_cast<Object*>(object)->reader;
    reinterpret_cast<freefunc>(PyType_GetSlot(type, Py_tp_free))(object);
    Py_DECREF(type);
}

// The text in UTF-8; null for one that has half a character.
Reference encoded(PyObject* text) {
    if (!PyUnicode_Check(text)) throw TypeMistake("a text must be a str");
    // Not PyUnicode_AsUTF8AndSize, which would keep the bytes as long as the text lives.
    PyObject* bytes = PyUnicode_AsUTF8String(text);
    if (bytes != nullptr) return Reference(bytes);
    if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) throw PythonError();
    PyErr_Clear();
    return nullptr;
}

std::string_view view_of(PyObject* bytes) {
    return {PyBytes_AsString(bytes), static_cast<std::size_t>(PyBytes_Size(bytes))};
}

void append(PyObject* list, Reference item) {
    if (PyList_Append(list, item.get()) != 0) throw PythonError();
}

// What the reader lacks: numbers of pages and pieces. Copies, as making a list may run Python's own code.
Reference wanted_by(const NgramReader& reader) {
    const std::vector<std::uint32_t> pages = reader.pages();
    const std::vector<std::string> pieces = reader.pieces();
    Reference wanted = owned(PyList_New(0));
    for (std::uint32_t page : pages) append(wanted.get(), owned(PyLong_FromUnsignedLong(page)));
    for (const std::string& piece : pieces)
        append(wanted.get(), owned(PyUnicode_FromStringAndSize(piece.data(), static_cast<Py_ssize_t>(piece.size()))));
    return wanted;
}

Reference row_of(NgramReader& reader, PyObject* text, std::size_t words, std::size_t characters) {
    const Reference bytes = encoded(text);
    if (bytes == nullptr) return Reference(Py_NewRef(Py_None));
    switch (reader.read(first_characters(view_of(bytes.get()), characters), words)) {
        case NgramReader::Outcome::read: {
            const std::vector<std::int32_t>& ids = reader.ids();
            return owned(PyBytes_FromStringAndSize(reinterpret_cast<const char*>(ids.data()),
                                                   static_cast<Py_ssize_t>(ids.size() * sizeof(std::int32_t))));
        }
        case NgramReader::Outcome::wanting:
            return wanted_by(reader);
        default:
            return Reference(Py_NewRef(Py_None));
    }
}

std::size_t limit_of(PyObject* item, const char* name) {
    const long limit = PyLong_Check(item) ? PyLong_AsLong(item) : -1;
    if (limit == -1 && PyErr_Occurred()) throw PythonError();
    if (limit < 1) throw std::invalid_argument(std::string(name) + " must be an int of at least 1");
    return static_cast<std::size_t>(limit);
}

PyObject* read(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        if (count != 3 || !PyList_Check(arguments[0]))
            throw TypeMistake("read takes a list of texts, max_length and most_characters");
        const std::size_t words = limit_of(arguments[1], "max_length");
        const std::size_t characters = limit_of(arguments[2], "most_characters");
        Reference rows = owned(PyList_New(0));
        for (Py_ssize_t row = 0; row < PyList_Size(arguments[0]); ++row) {
            const Reference text = owned(Py_XNewRef(PyList_GetItem(arguments[0], row)));
            append(rows.get(), row_of(reader_of(self), text.get(), words, characters));
        }
        return rows.release();
    });
}

Kind kind_of(Py_UCS4 letter) {
    switch (letter) {
        case '-': return Kind::nothing;
        case 'w': return Kind::word;
        case 'h': return Kind::han;
        case 'm': return Kind::mark;
        case ' ': return Kind::space;
        default: throw std::invalid_argument("a kind of characters must be one of 'whm- '");
    }
}

// What a character becomes: nothing for None, else a text and the kinds of its characters.
CharacterTable::Several becomes(PyObject* reading) {
    CharacterTable::Several characters;
    if (is_none(reading)) return characters;
    const std::vector<PyObject*> items = items_of(reading, "what a character becomes", 2);
    if (!PyUnicode_Check(items[0]) || !PyUnicode_Check(items[1]))
        throw TypeMistake("what a character becomes must be a text and its kinds");
    const Py_ssize_t length = PyUnicode_GetLength(items[0]);
    if (length < 1 || length != PyUnicode_GetLength(items[1]))
        throw std::invalid_argument("what a character becomes must have as many kinds as characters");
    for (Py_ssize_t place = 0; place < length; ++place)
        characters.emplace_back(PyUnicode_ReadChar(items[0], place), kind_of(PyUnicode_ReadChar(items[1], place)));
    return characters;
}

PyObject* add_page(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        if (count != 2 || !PyLong_Check(arguments[0])) throw TypeMistake("add_page takes a number and its characters");
        const long number = PyLong_AsLong(arguments[0]);
        if (number == -1 && PyErr_Occurred()) throw PythonError();
        if (number < 0 || number >= CharacterTable::PAGES) throw std::invalid_argument("no such page of characters");
        std::vector<CharacterTable::Several> characters;
        for (PyObject* reading : items_of(arguments[1], "characters")) characters.push_back(becomes(reading));
        reader_of(self).add_page(static_cast<std::uint32_t>(number), characters);
        return Py_NewRef(Py_None);
    });
}

long number_of(PyObject* item, long most) {
    if (!PyLong_Check(item)) throw TypeMistake("a word must be an int and a tuple of ints");
    const long number = PyLong_AsLong(item);
    if (number == -1 && PyErr_Occurred()) throw PythonError();
    if (number < 0 || number > most) throw std::invalid_argument("a number is out of bounds: " + std::to_string(number));
    return number;
}

PyObject* add_piece(PyObject* self, PyObject* const* arguments, Py_ssize_t count) {
    return as_python_errors<PyObject*>(nullptr, [&] {
        if (count != 2) throw TypeMistake("add_piece takes a piece and its words");
        const Reference bytes = encoded(arguments[0]);
        if (bytes == nullptr) throw std::invalid_argument("a piece must not have half a character");
        PieceWords words;
        for (PyObject* word : items_of(arguments[1], "words")) {
            const std::vector<PyObject*> items = items_of(word, "a word", 2);
            words.words.push_back(static_cast<std::uint32_t>(number_of(items[0], 0xFFFFFFFFL)));
            for (PyObject* id : items_of(items[1], "the buckets of a word"))
                words.ids.push_back(static_cast<std::int32_t>(number_of(id, 0x7FFFFFFFL)));
            words.ends.push_back(words.ids.size());
        }
        reader_of(self).add_piece(std::string(view_of(bytes.get())), std::move(words));
        return Py_NewRef(Py_None);
    });
}

template <class Function>
PyCFunction method(Function function) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function));
}

PyMethodDef METHODS[] = {
    {"read", method(read), METH_FASTCALL, "The buckets of texts."},
    {"add_page", method(add_page), METH_FASTCALL, "Tell what 256 characters become."},
    {"add_piece", method(add_piece), METH_FASTCALL, "Tell the words of a piece."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

int add_ngram_type(PyObject* module) {
    PyType_Slot slots[] = {
        {Py_tp_new, reinterpret_cast<void*>(make)},
        {Py_tp_dealloc, reinterpret_cast<void*>(destroy)},
        {Py_tp_methods, METHODS},
        {0, nullptr},
    };
    PyType_Spec spec{"limbeck.runtime._native.Ngrams", sizeof(Object), 0,
                     Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE, slots};
    PyObject* type = PyType_FromSpec(&spec);
    if (type == nullptr) return -1;
    const int failed = PyModule_AddObjectRef(module, "Ngrams", type);
    Py_DECREF(type);
    return failed;
}

}  // namespace limbeck
