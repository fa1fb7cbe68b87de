# The programs that bench/redis_bench.py and bench/zookeeper_bench.py measure: pawl, and what it cannot do without. In
# build/bench/.

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

if(PAWL_STORE_REDIS OR PAWL_STORE_ZOOKEEPER)
  pawl_bench_program(pawl_bench_worker worker pawl)
endif()
if(PAWL_STORE_REDIS)
  pawl_bench_program(pawl_redis_floor redis_floor)
endif()
if(PAWL_STORE_ZOOKEEPER)
  pawl_bench_program(pawl_zookeeper_floor zookeeper_floor ZooKeeper::ZooKeeper)
endif()
