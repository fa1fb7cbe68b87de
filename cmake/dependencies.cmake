# What must be on the machine. scripts/setup.sh installs it on Debian.

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

# Stores with a library of their own: built when it is there, left out when it is not.
find_package(LMDB MODULE QUIET)
option(PAWL_STORE_FILE "The file store, the default one; needs LMDB" ${LMDB_FOUND})
if(PAWL_STORE_FILE AND NOT LMDB_FOUND)
  message(FATAL_ERROR "PAWL_STORE_FILE needs LMDB, which was not found "
                      "(Debian: liblmdb-dev; scripts/setup.sh installs everything)")
elseif(PAWL_STORE_FILE)
  list(APPEND PAWL_STORES file)
  list(APPEND PAWL_FIND_MODULES LMDB)
  list(APPEND PAWL_STORE_LIBRARIES lmdb)
  # For the command line, which measures LMDB alone.
else()
  message(STATUS "pawl is built without the file store (Debian: liblmdb-dev)")
endif()

find_package(hiredis MODULE QUIET)
find_package(OpenSSL QUIET)
set(redis_found OFF)
if(hiredis_FOUND AND OPENSSL_FOUND)
  set(redis_found ON)
endif()
option(PAWL_STORE_REDIS "The Redis store; needs hiredis and OpenSSL" ${redis_found})
if(PAWL_STORE_REDIS AND NOT redis_found)
  message(FATAL_ERROR "PAWL_STORE_REDIS needs hiredis and OpenSSL, which were not found "
                      "(Debian: libhiredis-dev libssl-dev; scripts/setup.sh installs everything)")
elseif(PAWL_STORE_REDIS)
  list(APPEND PAWL_STORES redis)
  list(APPEND PAWL_FIND_MODULES hiredis)
  list(APPEND PAWL_STORE_LIBRARIES hiredis)
else()
  message(STATUS "pawl is built without the Redis store (Debian: libhiredis-dev libssl-dev)")
endif()

find_package(ZooKeeper MODULE QUIET)
set(zookeeper_found OFF)
if(ZooKeeper_FOUND AND OPENSSL_FOUND)
  set(zookeeper_found ON)
endif()
option(PAWL_STORE_ZOOKEEPER "The ZooKeeper store; needs libzookeeper_st and OpenSSL" ${zookeeper_found})
if(PAWL_STORE_ZOOKEEPER AND NOT zookeeper_found)
  message(FATAL_ERROR "PAWL_STORE_ZOOKEEPER needs libzookeeper_st and OpenSSL, which were not found "
                      "(Debian: libzookeeper-st-dev libssl-dev; scripts/setup.sh installs everything)")
elseif(PAWL_STORE_ZOOKEEPER)
  list(APPEND PAWL_STORES zookeeper)
  list(APPEND PAWL_FIND_MODULES ZooKeeper)
  list(APPEND PAWL_STORE_LIBRARIES zookeeper_st)
else()
  message(STATUS "pawl is built without the ZooKeeper store (Debian: libzookeeper-st-dev libssl-dev)")
endif()

# src/store/net, with what it needs: for every store whose server is elsewhere.
set(PAWL_NET OFF)
if(PAWL_STORE_REDIS OR PAWL_STORE_ZOOKEEPER)
  set(PAWL_NET ON)
  list(APPEND PAWL_STORE_LIBRARIES ssl crypto)
endif()
