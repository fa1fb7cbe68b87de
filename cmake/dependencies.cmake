# What must be on the machine. scripts/setup.sh installs it on Debian.

# Told about what is left out here because something is not on the machine. Where PAWL_NO_SKIPS=1 is in the environment nothing
# may be.
function(pawl_left_out text)
  if(PAWL_BUILD_TESTS AND "$ENV{PAWL_NO_SKIPS}")
    message(FATAL_ERROR "PAWL_NO_SKIPS=1: ${text}")
  endif()
  message(STATUS "${text}")
endfunction()

macro(pawl_require package version debian)
  find_package(${package} ${version} QUIET)
  if(NOT ${package}_FOUND)
    message(FATAL_ERROR "pawl needs ${package} ${version} or later, which was not found "
                        "(Debian: ${debian}; scripts/setup.sh installs everything)")
  endif()
endmacro()

pawl_require(Boost 1.81 libboost1.81-dev)
pawl_require(tl-expected 1.0 libexpected-dev)
pawl_require(fmt 9 libfmt-dev)
find_package(Threads REQUIRED)
if(PAWL_BUILD_CLI)
  pawl_require(CLI11 2.1 libcli11-dev)
endif()
if(PAWL_BUILD_TESTS)
  pawl_require(GTest 1.12 "libgtest-dev libgmock-dev")
endif()

# What is built, and what the users of the installed library need for it: told here, once per store.
set(PAWL_STORES memory)
set(PAWL_FIND_MODULES "") # modules in cmake/ for libraries without a CMake package
set(PAWL_STORE_LIBRARIES "") # what pkg-config tells to link
list(PREPEND CMAKE_MODULE_PATH ${CMAKE_CURRENT_LIST_DIR})

# A store with a library of its own: built when that is there, left out when it is not.
#   pawl_store(<name> CALLED <in words> NEEDS <in words> DEBIAN <packages> IF <variables> MODULE <finders> LINK <libraries>)
macro(pawl_store name)
  cmake_parse_arguments(store "" "CALLED;NEEDS;DEBIAN" "IF;MODULE;LINK" ${ARGN})
  string(TOUPPER "PAWL_STORE_${name}" store_option)
  set(store_found ON)
  foreach(variable IN LISTS store_IF)
    if(NOT ${variable})
      set(store_found OFF)
    endif()
  endforeach()
  option(${store_option} "The ${store_CALLED}; needs ${store_NEEDS}" ${store_found})
  if(${store_option} AND NOT store_found)
    message(FATAL_ERROR "${store_option} needs ${store_NEEDS}: not found "
                        "(Debian: ${store_DEBIAN}; scripts/setup.sh installs everything)")
  elseif(${store_option})
    list(APPEND PAWL_STORES ${name})
    list(APPEND PAWL_FIND_MODULES ${store_MODULE})
    list(APPEND PAWL_STORE_LIBRARIES ${store_LINK})
  elseif(store_found)
    message(STATUS "pawl is built without the ${store_CALLED}: ${store_option}=OFF")
  else()
    pawl_left_out("pawl is built without the ${store_CALLED} (Debian: ${store_DEBIAN})")
  endif()
endmacro()

find_package(OpenSSL QUIET)
find_package(LMDB MODULE QUIET)
find_package(hiredis MODULE QUIET)
find_package(ZooKeeper MODULE QUIET)
find_package(MariaDB MODULE QUIET)
find_package(Nghttp2 MODULE QUIET)
find_package(ProtobufLite MODULE QUIET)
find_program(PAWL_PROTOC protoc)
pawl_store(file CALLED "file store, the default one" NEEDS "LMDB" DEBIAN "liblmdb-dev"
           IF LMDB_FOUND MODULE LMDB LINK lmdb)
pawl_store(redis CALLED "Redis store" NEEDS "hiredis and OpenSSL" DEBIAN "libhiredis-dev libssl-dev"
           IF hiredis_FOUND OPENSSL_FOUND MODULE hiredis LINK hiredis)
pawl_store(redlock CALLED "Redlock store, on several Redis masters" NEEDS "the Redis store" DEBIAN "libhiredis-dev libssl-dev"
           IF PAWL_STORE_REDIS)
pawl_store(zookeeper CALLED "ZooKeeper store" NEEDS "libzookeeper_st and OpenSSL" DEBIAN "libzookeeper-st-dev libssl-dev"
           IF ZooKeeper_FOUND OPENSSL_FOUND MODULE ZooKeeper LINK zookeeper_st)
pawl_store(mysql CALLED "MySQL store" NEEDS "MariaDB Connector/C and OpenSSL" DEBIAN "libmariadb-dev libssl-dev"
           IF MariaDB_FOUND OPENSSL_FOUND MODULE MariaDB LINK mariadb)
pawl_store(etcd CALLED "etcd store" NEEDS "nghttp2, Protocol Buffers with protoc, and OpenSSL"
           DEBIAN "libnghttp2-dev libprotobuf-dev protobuf-compiler libssl-dev"
           IF Nghttp2_FOUND ProtobufLite_FOUND PAWL_PROTOC OPENSSL_FOUND MODULE Nghttp2 ProtobufLite LINK nghttp2 protobuf-lite)

# src/store/net, with what it needs: for every store whose server is elsewhere.
set(PAWL_NET OFF)
if(PAWL_STORE_REDIS OR PAWL_STORE_ZOOKEEPER OR PAWL_STORE_MYSQL OR PAWL_STORE_ETCD)
  set(PAWL_NET ON)
  list(APPEND PAWL_STORE_LIBRARIES ssl crypto)
endif()
