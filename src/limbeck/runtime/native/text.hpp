// A text as its words.
#pragma once

#include <cstdint>

namespace limbeck {

struct Text {
    const std::int32_t* ids;
    long length;  // at least 1
};

}  // namespace limbeck
