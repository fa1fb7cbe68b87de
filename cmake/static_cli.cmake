# Starting `pawl` costs what its libraries cost to load: with all of them shared that is more than everything that `pawl run`
# does after it (docs/decisions/0032). So the command is linked with their archives, at fixed addresses, where all of them are
# there and fit together; glibc stays shared. A build that lacks one links the shared libraries, as the library's users do.

# libfmt-dev has no archive: its code is compiled from its headers.
set(pawl_fmt_source ${PROJECT_SOURCE_DIR}/apps/static/fmt.cpp)
# One function of each, so that the test below needs all of them.
set(pawl_static_symbols "")
set(pawl_static_libraries "")
set(pawl_archives_missing "")

# pawl_archive(<option of the store, or ON> <shared library> <a function of it>)
macro(pawl_archive wanted library symbol)
  if(${wanted})
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive "${library}")
    if(archive MATCHES "\\.a$" AND EXISTS "${archive}")
      list(APPEND pawl_static_libraries "${archive}")
      list(APPEND pawl_static_symbols ${symbol})
    else()
      list(APPEND pawl_archives_missing "${archive}")
    endif()
  endif()
endmacro()

# Those that use others stand before them.
pawl_archive(PAWL_STORE_FILE "${LMDB_LIBRARY}" mdb_env_create)
pawl_archive(PAWL_STORE_REDIS "${hiredis_LIBRARY}" redisReaderCreate)
pawl_archive(PAWL_STORE_ZOOKEEPER "${ZooKeeper_LIBRARY}" zookeeper_init)
pawl_archive(PAWL_STORE_MYSQL "${MariaDB_LIBRARY}" mysql_real_connect)
pawl_archive(PAWL_STORE_ETCD "${Nghttp2_LIBRARY}" nghttp2_session_client_new)
pawl_archive(PAWL_STORE_ETCD "${ProtobufLite_LIBRARY}" _ZN6google8protobuf11MessageLite14ParseFromArrayEPKvi)
pawl_archive(PAWL_NET "${OPENSSL_SSL_LIBRARY}" SSL_new)
pawl_archive(PAWL_NET "${OPENSSL_CRYPTO_LIBRARY}" EVP_DigestInit)
find_library(PAWL_ZLIB z)
mark_as_advanced(PAWL_ZLIB)
pawl_archive(PAWL_STORE_MYSQL "${PAWL_ZLIB}" inflate)

set(pawl_static_options -static-libstdc++ -static-libgcc -no-pie)
if(NOT pawl_archives_missing AND NOT PAWL_SANITIZE)
  list(TRANSFORM pawl_static_symbols PREPEND -Wl,-u, OUTPUT_VARIABLE wanted)
  try_compile(
    PAWL_ARCHIVES_FIT ${PROJECT_BINARY_DIR}/static_cli SOURCES ${pawl_fmt_source} ${PROJECT_SOURCE_DIR}/apps/static/try.cpp
    LINK_OPTIONS ${pawl_static_options} ${wanted}
    LINK_LIBRARIES ${pawl_static_libraries} Threads::Threads
    CXX_STANDARD 20 CXX_STANDARD_REQUIRED ON CXX_EXTENSIONS OFF
    OUTPUT_VARIABLE pawl_static_trouble)
endif()
if(NOT PAWL_ARCHIVES_FIT AND NOT PAWL_SANITIZE)
  message(STATUS "The command is linked with shared libraries: archives are missing or do not fit (${pawl_archives_missing})")
endif()
option(PAWL_STATIC_CLI "Link the command with archives of its libraries: it starts three times as fast" ${PAWL_ARCHIVES_FIT})
if(PAWL_STATIC_CLI AND NOT PAWL_ARCHIVES_FIT)
  message(FATAL_ERROR "PAWL_STATIC_CLI: not without ${pawl_archives_missing}${pawl_static_trouble}")
endif()

# Links the program with the library and all that it needs.
function(pawl_link_cli target)
  if(NOT PAWL_STATIC_CLI)
    target_link_libraries(${target} PRIVATE pawl fmt::fmt $<$<BOOL:${PAWL_STORE_FILE}>:LMDB::LMDB>)
    return()
  endif()
  add_library(pawl_static_fmt OBJECT ${pawl_fmt_source})
  target_compile_features(pawl_static_fmt PRIVATE cxx_std_20)
  add_dependencies(${target} pawl)
  target_link_options(${target} PRIVATE ${pawl_static_options})
  target_link_libraries(${target} PRIVATE $<TARGET_OBJECTS:pawl_static_fmt> $<TARGET_FILE:pawl> ${pawl_static_libraries}
                                          Threads::Threads)
endfunction()
