# The programs that bench/redis_bench.py measures: pawl, and what it cannot do without. In build/bench/.

add_custom_target(pawl_bench)
if(NOT PAWL_STORE_REDIS)
  return()
endif()

foreach(name redis_worker redis_floor)
  add_executable(pawl_${name} bench/${name}.cpp bench/participant.cpp)
  # As everything of ours, but without its precompiled header: there is nothing of Asio in here.
  target_compile_options(pawl_${name} PRIVATE ${pawl_compile_options})
  target_include_directories(pawl_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(pawl_${name} PRIVATE Threads::Threads)
  set_target_properties(pawl_${name} PROPERTIES OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endforeach()
target_link_libraries(pawl_redis_worker PRIVATE pawl)
add_dependencies(pawl_bench pawl_redis_worker pawl_redis_floor)
