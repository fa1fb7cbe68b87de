#pragma once

namespace pawl {

inline constexpr const char* version = "0.1.0";

}  // namespace pawl
