#pragma once

#include <pawl/client.hpp>

#include <string>

namespace pawl::cli {

/// Kinds never meet, so whoever takes a mutex where others use a rw lock of that name excludes nobody: one line on
/// stderr, if another kind is held or waited for. Nothing if the store cannot tell.
void warn_of_other_kinds(Client& client, const std::string& name, Kind kind);

}  // namespace pawl::cli
