#pragma once

#include <utility>

namespace pawl::lock {

/// The way between the handles of the face and what stands behind them.
class Access {
 public:
  template <class Face, class... Args>
  static Face make(Args&&... args) {
    return Face(std::forward<Args>(args)...);
  }
  template <class Face>
  static const auto& core(const Face& face) {
    return face.core_;
  }
  template <class Face>
  static auto& plan(Face& face) {
    return face.plan_;
  }
};

}  // namespace pawl::lock
