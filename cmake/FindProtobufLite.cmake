# Of Protocol Buffers what etcd's messages need when a program runs: ProtobufLite::ProtobufLite. (CMake's own module also
# looks for the compiler and the whole library.) It is installed with pawl, whose users have to find it, too.

find_path(ProtobufLite_INCLUDE_DIR google/protobuf/message_lite.h)
find_library(ProtobufLite_LIBRARY protobuf-lite)
mark_as_advanced(ProtobufLite_INCLUDE_DIR ProtobufLite_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(ProtobufLite REQUIRED_VARS ProtobufLite_LIBRARY ProtobufLite_INCLUDE_DIR)

if(ProtobufLite_FOUND AND NOT TARGET ProtobufLite::ProtobufLite)
  add_library(ProtobufLite::ProtobufLite UNKNOWN IMPORTED)
  set_target_properties(ProtobufLite::ProtobufLite PROPERTIES IMPORTED_LOCATION "${ProtobufLite_LIBRARY}"
                                                              INTERFACE_INCLUDE_DIRECTORIES "${ProtobufLite_INCLUDE_DIR}")
endif()
