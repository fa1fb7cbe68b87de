# ZooKeeper's C client brings no CMake package: this makes ZooKeeper::ZooKeeper, of the flavour without threads of its own.
# It is installed with pawl, whose users have to find it, too.

find_path(ZooKeeper_INCLUDE_DIR zookeeper/zookeeper.h)
find_library(ZooKeeper_LIBRARY zookeeper_st)
mark_as_advanced(ZooKeeper_INCLUDE_DIR ZooKeeper_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ZooKeeper REQUIRED_VARS ZooKeeper_LIBRARY ZooKeeper_INCLUDE_DIR)

if(ZooKeeper_FOUND AND NOT TARGET ZooKeeper::ZooKeeper)
  add_library(ZooKeeper::ZooKeeper UNKNOWN IMPORTED)
  set_target_properties(ZooKeeper::ZooKeeper PROPERTIES IMPORTED_LOCATION "${ZooKeeper_LIBRARY}"
                                                        INTERFACE_INCLUDE_DIRECTORIES "${ZooKeeper_INCLUDE_DIR}")
endif()
