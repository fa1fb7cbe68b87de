# The tests: unit, contract, simulation, process, and the checks of the sources. A label for each; `cluster` is what takes
# long because of several servers, and runs by `make test-clusters`; `scheme` is the contract of schemes that are not their
# store's default, where it takes long, and runs by `make test-schemes`.
# A folder without sources makes no target.

include(GoogleTest)

# Most of a test's time is the compiler's: so tests are not optimized, and have line numbers only. The libraries that they test
# are; of what is in headers, a test may have its own copy.
set(pawl_test_options -O0 -g1)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/test_pch.cpp CONTENT "")
add_library(pawl_test_pch OBJECT ${PROJECT_BINARY_DIR}/test_pch.cpp)
pawl_compile(pawl_test_pch PCH pawl_test_pch)
target_compile_options(pawl_test_pch PRIVATE ${pawl_test_options})
target_link_libraries(pawl_test_pch PRIVATE GTest::gmock)
target_precompile_headers(pawl_test_pch PRIVATE src/base/pch.hpp <gmock/gmock.h> <gtest/gtest.h>)

# OPTIMIZED: what the simulation runs over and over, and what knows nothing of GoogleTest.
function(pawl_compile_test target)
  cmake_parse_arguments(arg "OPTIMIZED" "" "" ${ARGN})
  if(arg_OPTIMIZED)
    pawl_compile(${target})
  else()
    pawl_compile(${target} PCH pawl_test_pch)
    target_compile_options(${target} PRIVATE ${pawl_test_options})
  endif()
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
endfunction()

function(pawl_test_program target)
  cmake_parse_arguments(arg "OPTIMIZED" "" "SOURCES;LINK" ${ARGN})
  add_executable(${target} ${arg_SOURCES})
  if(arg_OPTIMIZED)
    set(how OPTIMIZED)
  endif()
  pawl_compile_test(${target} ${how})
  target_link_libraries(${target} PRIVATE ${arg_LINK})
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

function(pawl_gtest_program target)
  pawl_test_program(${target} ${ARGN})
  target_link_libraries(${target} PRIVATE GTest::gmock GTest::gtest_main)
endfunction()

# ctest runs so many tests at once that their PROCESSORS fill its slots, of which the presets give six for each of two cores. A
# test takes two of them; one that mostly waits for time to pass, and needs less than a tenth of a core, says `waits` and takes
# one.
set(usual_slots 2)
set(waits PROCESSORS 1)

# The cases of a gtest program, each known to ctest under `label`. The timeout is a hang guard, not a measure. PROPERTIES of the
# tests come last.
function(pawl_discover target label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "FILTER" "PROPERTIES")
  gtest_discover_tests(
    ${target}
    TEST_FILTER "${arg_FILTER}"
    TEST_PREFIX "${label}/"
    DISCOVERY_MODE PRE_TEST
    DISCOVERY_TIMEOUT 60
    PROPERTIES LABELS ${label} TIMEOUT 300 PROCESSORS ${usual_slots} ${arg_PROPERTIES})
endfunction()

# One gtest program, and its cases.
function(pawl_tests target label)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "FILTER" "PROPERTIES")
  pawl_gtest_program(${target} ${arg_UNPARSED_ARGUMENTS})
  pawl_discover(${target} ${label} FILTER "${arg_FILTER}" PROPERTIES ${arg_PROPERTIES})
endfunction()

# The filter for all cases of a source.
function(pawl_cases_of source result)
  file(STRINGS ${source} lines REGEX "^TEST(_[FP])?\\(")
  list(TRANSFORM lines REPLACE "^TEST[_FP]*\\(([A-Za-z0-9_]+),.*" "\\1.*")
  list(REMOVE_DUPLICATES lines)
  set(others ${lines})
  list(TRANSFORM others PREPEND "*/")
  list(JOIN lines ":" filter)
  list(JOIN others ":" instantiated)
  set(${result} "${filter}:${instantiated}" PARENT_SCOPE)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${source})
endfunction()

# The cases of a gtest program in so many processes: a process for each case takes longer than most cases do. A shard that fails
# prints which of its cases did. What follows are more PROPERTIES.
function(pawl_test_shards name target label filter count)
  math(EXPR last "${count} - 1")
  foreach(index RANGE ${last})
    math(EXPR number "${index} + 1")
    set(test ${label}/${name}_${number}_of_${count})
    add_test(NAME ${test} COMMAND ${target} --gtest_brief=1 --gtest_filter=${filter})
    set_tests_properties(${test} PROPERTIES LABELS ${label} TIMEOUT 900 COST 100 PROCESSORS ${usual_slots}
                                            FAIL_REGULAR_EXPRESSION "Running 0 tests"
                                            ENVIRONMENT "GTEST_TOTAL_SHARDS=${count};GTEST_SHARD_INDEX=${index}" ${ARGN})
  endforeach()
endfunction()

# Cases of a gtest program as one test, in one process: for servers that are slow to start, and want more of the machine.
function(pawl_test_at_once name target label filter)
  add_test(NAME ${label}/${name} COMMAND ${target} --gtest_filter=${filter})
  set(processors 4)
  if(label STREQUAL "cluster")
    set(processors 8)
  endif()
  # A high cost: they begin first, and the short ones run beside them.
  set_tests_properties(${label}/${name} PROPERTIES LABELS ${label} TIMEOUT 1800 PROCESSORS ${processors} COST 1000
                                                   FAIL_REGULAR_EXPRESSION "Running 0 tests")
endfunction()

# etcd's messages, for tests that read or write them.
function(pawl_speaks_etcd target)
  target_link_libraries(${target} PRIVATE Nghttp2::Nghttp2 ProtobufLite::ProtobufLite)
  target_include_directories(${target} SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/proto)
  add_dependencies(${target} pawl_etcd_proto)
endfunction()

# Code that tests share, compiled against one of the two libraries.
function(pawl_test_objects target library)
  cmake_parse_arguments(PARSE_ARGV 2 arg "OPTIMIZED" "" "SOURCES")
  add_library(${target} OBJECT ${arg_SOURCES})
  if(arg_OPTIMIZED)
    set(how OPTIMIZED)
  endif()
  pawl_compile_test(${target} ${how})
  target_link_libraries(${target} PUBLIC ${library} GTest::gmock)
endfunction()

file(GLOB_RECURSE unit_sources CONFIGURE_DEPENDS src/*_test.cpp)
file(GLOB support_sources CONFIGURE_DEPENDS tests/support/*.cpp)
list(FILTER support_sources EXCLUDE REGEX "_preload\\.cpp$")
file(GLOB contract_sources CONFIGURE_DEPENDS tests/contract/*.cpp)
file(GLOB process_sources CONFIGURE_DEPENDS tests/process/*.cpp)
file(GLOB simulation_sources CONFIGURE_DEPENDS tests/simulation/*.cpp)
file(GLOB fuzz_sources CONFIGURE_DEPENDS tests/fuzz/*.cpp)
# What the fuzzers need of the library.
set(pawl_fuzzed_sources
    base/boot_clock.cpp base/duration.cpp base/error.cpp base/ids.cpp base/lock_name.cpp base/log.cpp base/names.cpp base/sha256.cpp base/url.cpp
    fencing/epoch.cpp fencing/marks.cpp fencing/sequencer.cpp fencing/token.cpp
    store/chronicle.cpp store/rules.cpp store/server_url.cpp
    store/file/config.cpp store/file/folder.cpp store/file/gate.cpp store/file/mail.cpp store/file/place.cpp
    store/file/records.cpp store/file/token_file.cpp store/file/writer_mutex.cpp
    store/redis/answers.cpp store/redis/config.cpp store/redis/info.cpp store/redis/letter.cpp store/redis/reply.cpp
    store/redis/script.cpp
    store/etcd/config.cpp store/etcd/grpc.cpp store/etcd/layout.cpp store/etcd/news.cpp store/etcd/sight.cpp store/etcd/status.cpp
    store/etcd/watches.cpp store/mysql/answers.cpp store/mysql/config.cpp store/net/address.cpp store/redlock/config.cpp store/redlock/views.cpp
    store/zookeeper/config.cpp store/zookeeper/layout.cpp store/record.cpp)

if(NOT PAWL_STORE_FILE)
  list(FILTER unit_sources EXCLUDE REGEX "/src/store/file/")
  list(FILTER process_sources EXCLUDE REGEX "/tests/process/file_")
  list(FILTER simulation_sources EXCLUDE REGEX "/(played_)?file[^/]*$")
endif()
if(NOT PAWL_STORE_REDIS)
  list(FILTER unit_sources EXCLUDE REGEX "/src/store/redis/")
endif()
if(NOT PAWL_STORE_REDLOCK)
  list(FILTER unit_sources EXCLUDE REGEX "/src/store/redlock/")
endif()
if(NOT PAWL_STORE_ZOOKEEPER)
  list(FILTER unit_sources EXCLUDE REGEX "/src/store/zookeeper/")
endif()
if(NOT PAWL_STORE_MYSQL)
  list(FILTER unit_sources EXCLUDE REGEX "/src/(store/)?mysql/")
endif()
if(NOT PAWL_STORE_ETCD)
  list(FILTER unit_sources EXCLUDE REGEX "/src/store/etcd/")
  list(FILTER support_sources EXCLUDE REGEX "/(etcd_frames|grpc_peer)\\.cpp$")
endif()
if(NOT PAWL_NET)
  list(FILTER unit_sources EXCLUDE REGEX "/src/store/net/")
endif()
if(NOT PAWL_STORE_FILE OR NOT TARGET pawl-cli)
  list(FILTER process_sources EXCLUDE REGEX "/tests/process/(cli|scarcity)")
endif()
if(NOT PAWL_STORE_REDIS)
  list(FILTER process_sources EXCLUDE REGEX "/tests/process/cli_redis")
endif()
if(NOT PAWL_STORE_ZOOKEEPER)
  list(FILTER process_sources EXCLUDE REGEX "/tests/process/cli_zookeeper")
endif()
if(NOT PAWL_STORE_MYSQL)
  list(FILTER process_sources EXCLUDE REGEX "/tests/process/cli_mysql")
endif()
if(NOT PAWL_STORE_ETCD)
  list(FILTER process_sources EXCLUDE REGEX "/tests/process/cli_etcd")
endif()

if(PAWL_STORE_REDLOCK)
  set_property(SOURCE tests/contract/schemes.cpp APPEND PROPERTY COMPILE_DEFINITIONS "PAWL_STORE_REDLOCK=1")
endif()
if(PAWL_STORE_MYSQL)
  set_property(SOURCE tests/contract/schemes.cpp tests/support/census.cpp tests/support/mysql_server.cpp
               APPEND PROPERTY COMPILE_DEFINITIONS "PAWL_STORE_MYSQL=1")
endif()
set(support pawl_test_support)
set(support_planted pawl_test_support_planted)
pawl_test_objects(${support_planted} pawl_planted OPTIMIZED SOURCES ${support_sources})
if(PAWL_SANITIZED_SMALL)
  # One library is enough there: its bugs sleep until the simulation wakes them.
  set(support ${support_planted})
  set_target_properties(pawl PROPERTIES EXCLUDE_FROM_ALL TRUE)
else()
  pawl_test_objects(${support} pawl SOURCES ${support_sources})
endif()
if(PAWL_STORE_ETCD)
  pawl_speaks_etcd(${support_planted})
  if(NOT PAWL_SANITIZED_SMALL)
    pawl_speaks_etcd(${support})
  endif()
endif()

# They have names in common with their neighbours.
set_source_files_properties(
  src/base/real_runtime_test.cpp src/session/keeper_test.cpp src/session/validity_test.cpp tests/redis/faults_test.cpp
  tests/etcd/cluster_transport_test.cpp tests/etcd/login_test.cpp tests/etcd/tls_test.cpp tests/etcd/transport_test.cpp tests/redis/hazards_test.cpp tests/simulation/file_worlds_test.cpp
  tests/support/socks_proxy.cpp tests/zookeeper/fork_test.cpp tests/zookeeper/hazards_test.cpp tests/zookeeper/interop_test.cpp
  tests/zookeeper/names_test.cpp tests/zookeeper/servers_test.cpp tests/zookeeper/auth_test.cpp PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
# On virtual time one thread does everything: TSan has nothing to find there. `make tsan` runs all the same.
set(virtual_time_is_left_out OFF)
if(PAWL_SANITIZED_SMALL AND PAWL_SANITIZE STREQUAL "thread")
  set(virtual_time_is_left_out ON)
endif()
if(unit_sources)
  pawl_gtest_program(pawl_unit_tests SOURCES ${unit_sources} LINK ${support})
  if(PAWL_STORE_ETCD)
    pawl_speaks_etcd(pawl_unit_tests)
  endif()
  pawl_test_shards(units pawl_unit_tests unit * 4)
endif()
if(contract_sources)
  # But coroutines of our users are optimized, and GCC 12 has had its troubles with them.
  set(as_users_do -O2)
  if(PAWL_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # Its manual: sanitizers make it see what is not so. Without them it looks there as well.
    list(APPEND as_users_do -Wno-maybe-uninitialized)
  endif()
  set_source_files_properties(tests/contract/asio_test.cpp PROPERTIES COMPILE_OPTIONS "${as_users_do}"
                                                                      SKIP_PRECOMPILE_HEADERS ON)
  pawl_gtest_program(pawl_contract_tests SOURCES ${contract_sources} LINK ${support})
  set(schemes memory_queue_virtual memory_queue_real memory_queue_blocking)
  if(PAWL_STORE_FILE)
    list(APPEND schemes file_queue file_queue_blocking)
  endif()
  if(PAWL_STORE_REDIS)
    list(APPEND schemes redis_queue redis_simple redis_redisson)
  endif()
  if(PAWL_STORE_REDLOCK)
    list(APPEND schemes redlock_majority)
  endif()
  if(PAWL_STORE_MYSQL)
    list(APPEND schemes mysql_queue)
  endif()
  if(PAWL_STORE_ETCD)
    list(APPEND schemes etcd_queue)
  endif()
  set(mysql_schemes unique version named for_update)
  set(others "*-*/zookeeper_*:*/etcd_cluster_*")
  foreach(scheme IN LISTS mysql_schemes)
    string(APPEND others ":*/mysql_${scheme}")
  endforeach()
  foreach(scheme IN LISTS schemes)
    string(APPEND others ":*/${scheme}")
    if(virtual_time_is_left_out AND scheme MATCHES "_virtual$")
      continue()
    endif()
    set(properties ${waits})
    if(scheme STREQUAL "mysql_queue")
      set(properties PROCESSORS ${usual_slots})
    endif()
    pawl_test_shards(${scheme} pawl_contract_tests contract */${scheme} 4 ${properties})
  endforeach()
  # So that a scheme which is missing above is not left out.
  add_test(NAME contract/others COMMAND pawl_contract_tests --gtest_brief=1 --gtest_filter=${others})
  set_tests_properties(contract/others PROPERTIES LABELS contract TIMEOUT 900 PROCESSORS ${usual_slots})
  if(PAWL_STORE_ZOOKEEPER AND NOT PAWL_SANITIZED_SMALL)
    # A server for each shard. They begin first; most of the time they wait, so that they need no slot beside their own.
    pawl_test_shards(zookeeper_sequential pawl_contract_tests contract */zookeeper_sequential 4 COST 1000)
    pawl_test_shards(zookeeper_ephemeral pawl_contract_tests scheme */zookeeper_ephemeral 4 COST 1000)
    foreach(scheme sequential ephemeral)
      pawl_test_at_once(zookeeper_ensemble_${scheme} pawl_contract_tests cluster */zookeeper_ensemble_${scheme})
    endforeach()
  endif()
  if(PAWL_STORE_MYSQL AND NOT PAWL_SANITIZED_SMALL)
    foreach(scheme IN LISTS mysql_schemes)
      pawl_test_shards(mysql_${scheme} pawl_contract_tests scheme */mysql_${scheme} 4)
    endforeach()
  endif()
  if(PAWL_STORE_ETCD AND NOT PAWL_SANITIZED_SMALL)
    pawl_test_at_once(etcd_cluster_queue pawl_contract_tests cluster */etcd_cluster_queue)
  endif()
endif()

if(simulation_sources AND NOT virtual_time_is_left_out)
  # *_test.cpp are cases, main.cpp is pawl-sim, and the rest is the world that both run.
  set(simulation_tests ${simulation_sources})
  list(FILTER simulation_tests INCLUDE REGEX "_test\\.cpp$")
  set(simulation_world ${simulation_sources})
  list(FILTER simulation_world EXCLUDE REGEX "_test\\.cpp$|/main\\.cpp$")
  set(world_objects "")
  if(simulation_world)
    pawl_test_objects(pawl_simulation pawl_planted OPTIMIZED SOURCES ${simulation_world})
    set(world_objects $<TARGET_OBJECTS:pawl_simulation>)
  endif()
  pawl_gtest_program(pawl_simulation_tests OPTIMIZED SOURCES ${simulation_tests} ${world_objects} LINK ${support_planted})
  pawl_test_shards(worlds pawl_simulation_tests simulation * 4)
  if(EXISTS ${PROJECT_SOURCE_DIR}/tests/simulation/main.cpp AND NOT PAWL_SANITIZED_SMALL)
    pawl_test_program(pawl-sim OPTIMIZED SOURCES tests/simulation/main.cpp ${world_objects} LINK ${support_planted})
  endif()
endif()

# Redis' scripts in a Lua of our own, on virtual time.
find_package(Lua 5.1 EXACT QUIET)
if(virtual_time_is_left_out)
  # Redis' scripts as well.
elseif(PAWL_STORE_REDIS AND LUA_FOUND)
  file(GLOB embedded_sources CONFIGURE_DEPENDS tests/embedded_redis/*.cpp)
  set(embedded_tests ${embedded_sources})
  list(FILTER embedded_tests INCLUDE REGEX "_test\\.cpp$")
  list(FILTER embedded_sources EXCLUDE REGEX "_test\\.cpp$")
  pawl_test_objects(pawl_embedded_redis pawl_planted OPTIMIZED SOURCES ${embedded_sources})
  target_include_directories(pawl_embedded_redis SYSTEM PRIVATE ${LUA_INCLUDE_DIR})
  pawl_gtest_program(pawl_embedded_redis_tests SOURCES ${embedded_tests} ${world_objects} LINK pawl_embedded_redis
                     ${support_planted} ${LUA_LIBRARIES})
  pawl_test_shards(embedded_redis pawl_embedded_redis_tests simulation * 2)
  if(TARGET pawl-sim)
    target_link_libraries(pawl-sim PRIVATE pawl_embedded_redis ${LUA_LIBRARIES})
    target_compile_definitions(pawl-sim PRIVATE PAWL_EMBEDDED_REDIS)
  endif()
elseif(PAWL_STORE_REDIS)
  pawl_left_out("Lua 5.1 not found: Redis' scripts are not simulated (Debian: liblua5.1-0-dev)")
endif()

if(PAWL_SANITIZED_SMALL)
  return()
endif()

if(PAWL_STORE_REDIS)
  file(GLOB redis_sources CONFIGURE_DEPENDS tests/redis/*_test.cpp)
  pawl_gtest_program(pawl_redis_tests SOURCES ${redis_sources} tests/process/sanitizers.cpp LINK ${support})
  target_compile_definitions(pawl_redis_tests PRIVATE PAWL_SOURCE="${PROJECT_SOURCE_DIR}" PAWL_BINARY="${PROJECT_BINARY_DIR}")
  pawl_cases_of(${PROJECT_SOURCE_DIR}/tests/redis/interop_test.cpp interop)
  # The fault matrix: two hundred short ones.
  pawl_test_shards(redis_faults pawl_redis_tests redis Redis/Faults.* 4 ${waits})
  pawl_discover(pawl_redis_tests redis FILTER "-${interop}:Redis/Faults.*")
  # The first of them builds Redisson's program: one at a time, so that the others do not sit and wait; and early.
  pawl_discover(pawl_redis_tests redis FILTER "${interop}" PROPERTIES RESOURCE_LOCK redisson COST 500)
endif()

# Sets the clock of a server.
add_library(pawl_clock_preload MODULE EXCLUDE_FROM_ALL tests/support/clock_preload.cpp)
target_compile_features(pawl_clock_preload PRIVATE cxx_std_20)
target_link_libraries(pawl_clock_preload PRIVATE ${CMAKE_DL_LIBS})

if(PAWL_STORE_REDLOCK)
  file(GLOB redlock_sources CONFIGURE_DEPENDS tests/redlock/*_test.cpp)
  pawl_gtest_program(pawl_redlock_tests SOURCES ${redlock_sources} tests/process/sanitizers.cpp LINK ${support})
  add_dependencies(pawl_redlock_tests pawl_clock_preload)
  target_compile_definitions(pawl_redlock_tests PRIVATE PAWL_SOURCE="${PROJECT_SOURCE_DIR}" PAWL_BINARY="${PROJECT_BINARY_DIR}"
                                                        PAWL_CLOCK_PRELOAD="$<TARGET_FILE:pawl_clock_preload>")
  # Each file is one test.
  foreach(source IN LISTS redlock_sources)
    get_filename_component(name ${source} NAME_WE)
    pawl_cases_of(${source} cases)
    pawl_test_at_once(${name} pawl_redlock_tests redlock ${cases})
  endforeach()
endif()

if(PAWL_STORE_MYSQL)
  file(GLOB mysql_sources CONFIGURE_DEPENDS tests/mysql/*_test.cpp)
  pawl_gtest_program(pawl_mysql_tests SOURCES ${mysql_sources} tests/process/sanitizers.cpp LINK ${support})
  target_compile_definitions(pawl_mysql_tests PRIVATE PAWL_EXAMPLES="${PROJECT_BINARY_DIR}" PAWL_SOURCE="${PROJECT_SOURCE_DIR}"
                                                      PAWL_CLOCK_PRELOAD="$<TARGET_FILE:pawl_clock_preload>")
  add_dependencies(pawl_mysql_tests pawl_clock_preload)
  # Each file is one test.
  foreach(source IN LISTS mysql_sources)
    get_filename_component(name ${source} NAME_WE)
    pawl_cases_of(${source} cases)
    pawl_test_at_once(${name} pawl_mysql_tests mysql ${cases})
  endforeach()
endif()

if(PAWL_STORE_ZOOKEEPER)
  file(GLOB zookeeper_sources CONFIGURE_DEPENDS tests/zookeeper/*_test.cpp)
  pawl_gtest_program(pawl_zookeeper_tests SOURCES ${zookeeper_sources} tests/process/sanitizers.cpp LINK ${support}
                     ZooKeeper::ZooKeeper)
  target_compile_definitions(pawl_zookeeper_tests PRIVATE PAWL_SOURCE="${PROJECT_SOURCE_DIR}"
                                                          PAWL_BINARY="${PROJECT_BINARY_DIR}")
  # Each file is one test.
  foreach(source IN LISTS zookeeper_sources)
    get_filename_component(name ${source} NAME_WE)
    pawl_cases_of(${source} cases)
    pawl_test_at_once(${name} pawl_zookeeper_tests zookeeper ${cases})
  endforeach()
endif()

if(PAWL_STORE_ETCD)
  file(GLOB etcd_sources CONFIGURE_DEPENDS tests/etcd/*_test.cpp)
  if(etcd_sources)
    pawl_gtest_program(pawl_etcd_tests SOURCES ${etcd_sources} tests/process/sanitizers.cpp LINK ${support})
    pawl_speaks_etcd(pawl_etcd_tests)
    target_compile_definitions(pawl_etcd_tests PRIVATE PAWL_SOURCE="${PROJECT_SOURCE_DIR}" PAWL_BINARY="${PROJECT_BINARY_DIR}")
    # Each file is one test. What needs three servers is called cluster_*_test.cpp.
    foreach(source IN LISTS etcd_sources)
      get_filename_component(name ${source} NAME_WE)
      pawl_cases_of(${source} cases)
      set(label etcd)
      if(name MATCHES "^cluster_")
        set(label cluster)
      endif()
      pawl_test_at_once(etcd_${name} pawl_etcd_tests ${label} ${cases})
    endforeach()
  endif()
endif()

if(process_sources)
  list(FILTER process_sources EXCLUDE REGEX "_(main|preload)\\.cpp$")
  pawl_tests(pawl_process_tests process
             FILTER "-CliZooKeeper*:ZooKeeper/*:CliMysql*:Mysql/*:Etcd/Scarcity*:Redlock/Scarcity*"
             SOURCES ${process_sources} LINK ${support})
  if(TARGET pawl-cli)
    target_compile_definitions(pawl_process_tests PRIVATE PAWL_CLI="$<TARGET_FILE:pawl-cli>"
                                                          PAWL_SOURCE="${PROJECT_SOURCE_DIR}")
    add_dependencies(pawl_process_tests pawl-cli)
    # Servers that take seconds to make: not anew in a process for each case.
    if(PAWL_STORE_MYSQL AND PAWL_STORE_FILE)
      pawl_test_at_once(cli_mysql pawl_process_tests process CliMysql*:Mysql/*-Mysql/Scarcity*)
    endif()
    if(PAWL_STORE_ZOOKEEPER AND PAWL_STORE_FILE)
      pawl_test_at_once(cli_zookeeper pawl_process_tests process CliZooKeeper*:ZooKeeper/*-ZooKeeper/Scarcity*)
    endif()
    # Hundreds of runs each, which mostly wait.
    foreach(store ZooKeeper Mysql Etcd Redlock)
      string(TOUPPER ${store} option)
      string(TOLOWER ${store} name)
      if(PAWL_STORE_${option} AND PAWL_STORE_FILE)
        pawl_test_shards(scarcity_${name} pawl_process_tests process ${store}/Scarcity* 2 COST 1000 ${waits})
      endif()
    endforeach()
  endif()
  if(PAWL_STORE_FILE AND TARGET pawl-cli)
    pawl_test_program(pawl_scarcity OPTIMIZED SOURCES tests/process/scarcity_main.cpp tests/process/sanitizers.cpp LINK pawl Boost::headers)
    add_library(pawl_scarcity_preload MODULE tests/process/scarcity_preload.cpp)
    target_compile_features(pawl_scarcity_preload PRIVATE cxx_std_20)
    target_link_libraries(pawl_scarcity_preload PRIVATE ${CMAKE_DL_LIBS})
    target_compile_definitions(pawl_process_tests PRIVATE PAWL_SCARCITY="$<TARGET_FILE:pawl_scarcity>"
                                                          PAWL_SCARCITY_PRELOAD="$<TARGET_FILE:pawl_scarcity_preload>"
                                                          $<$<BOOL:${PAWL_STORE_REDIS}>:PAWL_WITH_REDIS>
                                                          $<$<BOOL:${PAWL_STORE_ZOOKEEPER}>:PAWL_WITH_ZOOKEEPER>
                                                          $<$<BOOL:${PAWL_STORE_ETCD}>:PAWL_WITH_ETCD>
                                                          $<$<BOOL:${PAWL_STORE_MYSQL}>:PAWL_WITH_MYSQL>
                                                          $<$<BOOL:${PAWL_STORE_REDLOCK}>:PAWL_WITH_REDLOCK>)
    add_dependencies(pawl_process_tests pawl_scarcity pawl_scarcity_preload)
    if(PAWL_SANITIZE MATCHES "undefined")
      target_compile_definitions(pawl_process_tests PRIVATE PAWL_UBSAN)
    endif()
  endif()
  if(PAWL_STORE_FILE)
    pawl_test_program(pawl_file_child OPTIMIZED SOURCES tests/process/file_child_main.cpp tests/process/sanitizers.cpp LINK pawl)
    add_library(pawl_file_preload MODULE tests/process/file_preload.cpp)
    target_compile_features(pawl_file_preload PRIVATE cxx_std_20)
    target_link_libraries(pawl_file_preload PRIVATE ${CMAKE_DL_LIBS})
    target_compile_definitions(pawl_process_tests PRIVATE PAWL_FILE_CHILD="$<TARGET_FILE:pawl_file_child>"
                                                          PAWL_FILE_PRELOAD="$<TARGET_FILE:pawl_file_preload>")
    add_dependencies(pawl_process_tests pawl_file_child pawl_file_preload)
  endif()
endif()

if(TARGET pawl-cli)
  include(cmake/torture.cmake)
endif()

if(TARGET pawl-cli AND PAWL_STORE_FILE)
  add_test(NAME process/demo COMMAND pawl-cli demo --time 4s)
  set_tests_properties(process/demo PROPERTIES LABELS process TIMEOUT 300)
endif()

# Every example is compiled against the library alone, and must run to its end.
file(GLOB example_sources CONFIGURE_DEPENDS examples/*.cpp)
if(NOT PAWL_STORE_FILE)
  list(FILTER example_sources EXCLUDE REGEX "/(guard_a_file|cron_job|leader)\\.cpp$")
endif()
# Those need a server, and are run by tests/mysql/examples_test.cpp.
set(mysql_examples lock_in_transaction version_column)
if(NOT PAWL_STORE_MYSQL)
  list(FILTER example_sources EXCLUDE REGEX "/(lock_in_transaction|version_column)\\.cpp$")
endif()
foreach(source IN LISTS example_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_compile_options(example_${name} PRIVATE -Wall -Wextra)
  target_link_libraries(example_${name} PRIVATE pawl)
  if(name IN_LIST mysql_examples)
    add_dependencies(pawl_mysql_tests example_${name})
    continue()
  endif()
  add_test(NAME example/${name} COMMAND example_${name})
  set_tests_properties(example/${name} PROPERTIES LABELS example TIMEOUT 300)
endforeach()
# The one that includes <pawl/asio.hpp>.
target_link_libraries(example_coroutine_server PRIVATE Boost::headers)

# What the documents print and promise, besides quoting the examples.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_test(NAME docs/sql_guard COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/sql_guard_test.py)
set_tests_properties(docs/sql_guard PROPERTIES LABELS check TIMEOUT 300)
find_program(PAWL_ETCD etcd)
find_program(PAWL_ETCDCTL etcdctl)
if(PAWL_ETCD AND PAWL_ETCDCTL)
  add_test(NAME docs/etcd_guard COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/etcd_guard_test.py ${PAWL_ETCD}
                                        ${PAWL_ETCDCTL})
  set_tests_properties(docs/etcd_guard PROPERTIES LABELS check TIMEOUT 600)
else()
  pawl_left_out("etcd or etcdctl not found: the guard for etcd in docs/fencing.md is not tested")
endif()
find_program(PAWL_MARIADBD mariadbd)
find_program(PAWL_MARIADB_INSTALL_DB mariadb-install-db)
foreach(python /usr/bin/python3 ${Python3_EXECUTABLE})
  if(NOT PAWL_PYMYSQL_PYTHON AND EXISTS ${python})
    execute_process(COMMAND ${python} -c "import pymysql" RESULT_VARIABLE missing OUTPUT_QUIET ERROR_QUIET)
    if(missing EQUAL 0)
      set(PAWL_PYMYSQL_PYTHON ${python})
    endif()
  endif()
endforeach()
if(PAWL_MARIADBD AND PAWL_MARIADB_INSTALL_DB AND PAWL_PYMYSQL_PYTHON)
  add_test(NAME docs/mysql_guard COMMAND ${PAWL_PYMYSQL_PYTHON} ${PROJECT_SOURCE_DIR}/tests/docs/mysql_guard_test.py
                                         ${PAWL_MARIADBD} ${PAWL_MARIADB_INSTALL_DB})
  set_tests_properties(docs/mysql_guard PROPERTIES LABELS check TIMEOUT 900)
else()
  pawl_left_out("mariadbd, mariadb-install-db or PyMySQL not found: the guard for MySQL in docs/fencing.md is not tested")
endif()
if(PAWL_STORE_REDIS)
  add_test(NAME docs/redis_guard COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/redis_guard_test.py)
  set_tests_properties(docs/redis_guard PROPERTIES LABELS check TIMEOUT 300)
endif()
if(TARGET pawl-cli AND PAWL_STORE_FILE AND PAWL_STORE_REDIS)
  add_test(NAME docs/command_examples COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/docs/command_examples_test.py
                                              $<TARGET_FILE:pawl-cli>)
  set_tests_properties(docs/command_examples PROPERTIES LABELS check TIMEOUT 900)
endif()
if(TARGET pawl-cli)
  add_test(NAME docs/guarantees COMMAND Python3::Interpreter ${PROJECT_SOURCE_DIR}/scripts/check_docs.py --schemes
                                        $<TARGET_FILE:pawl-cli>)
  set_tests_properties(docs/guarantees PROPERTIES LABELS check TIMEOUT 300)
endif()

include(cmake/coverage.cmake)

# tests/fuzz: each file is a fuzzer, fuzz_NAME, in a tree of the preset `fuzz`, with the parsers alone instead of the whole
# library. Everywhere else all of them are one program that replays their corpora.
if(PAWL_STORE_FILE AND PAWL_STORE_REDIS AND PAWL_STORE_REDLOCK AND PAWL_STORE_ZOOKEEPER AND PAWL_STORE_MYSQL AND PAWL_STORE_ETCD
   AND fuzz_sources)
  set(fuzz_targets ${fuzz_sources})
  list(FILTER fuzz_targets EXCLUDE REGEX "/replay\\.cpp$")
  if(PAWL_SANITIZE MATCHES "fuzzer")
    list(TRANSFORM pawl_fuzzed_sources PREPEND ${PROJECT_SOURCE_DIR}/src/)
    add_library(pawl_fuzzed STATIC EXCLUDE_FROM_ALL ${pawl_fuzzed_sources} $<TARGET_OBJECTS:pawl_asio>
                $<TARGET_OBJECTS:pawl_etcd_proto>)
    target_include_directories(pawl_fuzzed PUBLIC include)
    pawl_speaks_etcd(pawl_fuzzed)
    pawl_is_compiled_as_library(pawl_fuzzed)
    add_custom_target(pawl_fuzzers)
    foreach(source IN LISTS fuzz_targets)
      get_filename_component(name ${source} NAME_WE)
      pawl_test_program(fuzz_${name} OPTIMIZED SOURCES ${source} LINK pawl_fuzzed)
      target_link_libraries(fuzz_${name} PRIVATE ZooKeeper::ZooKeeper)
      pawl_speaks_etcd(fuzz_${name})
      target_compile_definitions(fuzz_${name} PRIVATE PAWL_LIBFUZZER)
      target_link_options(fuzz_${name} PRIVATE -fsanitize=fuzzer)
      add_dependencies(pawl_fuzzers fuzz_${name})
    endforeach()
  else()
    pawl_test_program(pawl_fuzz_replay SOURCES ${fuzz_sources} LINK pawl)
    target_link_libraries(pawl_fuzz_replay PRIVATE ZooKeeper::ZooKeeper GTest::gmock)
    pawl_speaks_etcd(pawl_fuzz_replay)
    set_target_properties(pawl_fuzz_replay PROPERTIES UNITY_BUILD ON)
    add_test(NAME unit/fuzz_corpus COMMAND pawl_fuzz_replay ${PROJECT_SOURCE_DIR}/tests/fuzz/corpus)
    set_tests_properties(unit/fuzz_corpus PROPERTIES LABELS unit TIMEOUT 300)
  endif()
endif()

find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(pawl_check name)
  add_test(NAME check/${name} COMMAND Python3::Interpreter ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(check/${name} PROPERTIES LABELS check TIMEOUT 300)
endfunction()
foreach(check layers coroutines docs tests)
  pawl_check(${check} scripts/check_${check}.py)
  pawl_check(${check}_self_test scripts/check_${check}.py --self-test)
endforeach()

# The installed tree, used by projects of somebody else.
if(PROJECT_IS_TOP_LEVEL AND NOT PAWL_SANITIZE)
  list(JOIN PAWL_STORES "," stores)
  add_test(
    NAME package/consumers
    COMMAND
      Python3::Interpreter ${PROJECT_SOURCE_DIR}/tests/package/package_test.py --source ${PROJECT_SOURCE_DIR} --build
      ${PROJECT_BINARY_DIR} --compiler ${CMAKE_CXX_COMPILER} --generator ${CMAKE_GENERATOR} --version ${PROJECT_VERSION}
      --stores ${stores})
  set_tests_properties(package/consumers PROPERTIES LABELS package TIMEOUT 300 PROCESSORS 4)
endif()

get_property(tests DIRECTORY PROPERTY TESTS)
foreach(test IN LISTS tests)
  get_test_property(${test} PROCESSORS processors)
  if(NOT processors)
    set_tests_properties(${test} PROPERTIES PROCESSORS ${usual_slots})
  endif()
endforeach()
