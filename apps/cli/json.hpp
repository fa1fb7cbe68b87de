#pragma once

#include <pawl/lock_view.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace pawl::cli {

/// A JSON string with its quotes. What is not UTF-8 becomes U+FFFD: JSON has no other bytes.
std::string json_quote(std::string_view text);

/// The locks as an array of objects. A name that is not UTF-8 can be had from "encoded_name", where letters, digits and
/// -_. stand for themselves and every other byte is %XX; a candidate's value from "encoded_value". What a kind does not
/// have (slots, permits, value) is left out.
std::string json_of(const std::vector<LockView>& views);

/// A leader as an object. A value that is not UTF-8 can be had from "encoded_value".
std::string json_of(const Leader& leader);

/// { "version": 1, <members> }
std::string json_document(std::string_view members);
/// The same on one line.
std::string json_line(std::string_view members);

}  // namespace pawl::cli
