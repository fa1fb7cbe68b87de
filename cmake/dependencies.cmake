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

# Stores with a library of their own: built when it is there, left out when it is not.
find_path(PAWL_LMDB_INCLUDE lmdb.h)
find_library(PAWL_LMDB_LIBRARY lmdb)
mark_as_advanced(PAWL_LMDB_INCLUDE PAWL_LMDB_LIBRARY)
set(lmdb_found OFF)
if(PAWL_LMDB_INCLUDE AND PAWL_LMDB_LIBRARY)
  set(lmdb_found ON)
endif()
option(PAWL_STORE_FILE "The file store, the default one; needs LMDB" ${lmdb_found})
if(PAWL_STORE_FILE AND NOT lmdb_found)
  message(FATAL_ERROR "PAWL_STORE_FILE needs LMDB, which was not found "
                      "(Debian: liblmdb-dev; scripts/setup.sh installs everything)")
elseif(NOT PAWL_STORE_FILE)
  message(STATUS "pawl is built without the file store (Debian: liblmdb-dev)")
endif()
