# The programs that bench/redis_bench.py, bench/redlock_bench.py, bench/zookeeper_bench.py, bench/mysql_bench.py and
# bench/etcd_bench.py measure: pawl, and its floors. In build/bench/.

add_custom_target(pawl_bench)

function(pawl_bench_program target name)
  add_executable(${target} bench/${name}.cpp bench/participant.cpp)
  # As everything of ours, but without its precompiled header: there is nothing of Asio in here.
  target_compile_options(${target} PRIVATE ${pawl_compile_options})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE Threads::Threads ${ARGN})
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  add_dependencies(pawl_bench ${target})
endfunction()

if(PAWL_STORE_REDIS OR PAWL_STORE_ZOOKEEPER OR PAWL_STORE_MYSQL OR PAWL_STORE_ETCD)
  pawl_bench_program(pawl_bench_worker worker pawl)
endif()
if(PAWL_STORE_REDIS)
  pawl_bench_program(pawl_redis_floor redis_floor)
endif()
if(PAWL_STORE_REDLOCK)
  pawl_bench_program(pawl_redlock_floor redlock_floor)
endif()
if(PAWL_STORE_ZOOKEEPER)
  pawl_bench_program(pawl_zookeeper_floor zookeeper_floor ZooKeeper::ZooKeeper)
endif()
if(PAWL_STORE_MYSQL)
  pawl_bench_program(pawl_mysql_floor mysql_floor MariaDB::MariaDB)
endif()
if(PAWL_STORE_ETCD)
  # It speaks through the library's own channel, so that it is compiled as the library is.
  add_executable(pawl_etcd_floor bench/etcd_floor.cpp bench/participant.cpp)
  pawl_compile(pawl_etcd_floor)
  target_include_directories(pawl_etcd_floor PRIVATE ${PROJECT_SOURCE_DIR})
  target_include_directories(pawl_etcd_floor SYSTEM PRIVATE ${PROJECT_BINARY_DIR}/proto)
  target_link_libraries(pawl_etcd_floor PRIVATE pawl ProtobufLite::ProtobufLite)
  set_target_properties(pawl_etcd_floor PROPERTIES OUTPUT_NAME etcd_floor UNITY_BUILD OFF
                                                   RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
  add_dependencies(pawl_etcd_floor pawl_etcd_proto)
  add_dependencies(pawl_bench pawl_etcd_floor)
endif()
