#pragma once

#include <string>
#include <string_view>

namespace pawl::cli {

/// A JSON string with its quotes. Bytes above 0x7f are passed on as they are.
std::string json_quote(std::string_view text);

}  // namespace pawl::cli
