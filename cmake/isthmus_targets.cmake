# The few target kinds that the tree is built from, so that each CMakeLists.txt is a list of files.

# isthmus_reuse_dialect_headers(target): the headers of MLIR, LLVM and the dialect that every stage reads, which
# take seconds in each file, come precompiled.
function(isthmus_reuse_dialect_headers target)
  if(TARGET isthmus_dialect)
    get_target_property(unoptimized ${target} ISTHMUS_UNOPTIMIZED)
    if(unoptimized)
      target_precompile_headers(${target} REUSE_FROM isthmus_unoptimized_headers)
    else()
      target_precompile_headers(${target} REUSE_FROM isthmus_dialect)
    endif()
    # Executables too: headers serve only code that is made alike.
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# isthmus_library(name SOURCES ... DEPS ...): a static library. With MLIR, it sees MLIR's headers.
function(isthmus_library name)
  cmake_parse_arguments(ARG "MLIR" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  if(ARG_MLIR)
    target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    if(NOT name STREQUAL isthmus_dialect)
      isthmus_reuse_dialect_headers(${name})
    endif()
  endif()
endfunction()

# isthmus_test(name SOURCES ... DEPS ...): a GoogleTest binary that ctest runs. Its own code is not optimised under
# sanitizers, which halves the time to compile it, unless it is OPTIMIZED, for it computes much itself.
function(isthmus_test name)
  if(NOT ISTHMUS_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "" "SOURCES;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  if(ISTHMUS_SANITIZE AND NOT ARG_OPTIMIZED)
    set_target_properties(${name} PROPERTIES ISTHMUS_UNOPTIMIZED ON)
    target_compile_options(${name} PRIVATE -O0)
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(ARG_MLIR)
    isthmus_link_mlir(${name})
  endif()
  add_test(NAME ${name} COMMAND ${name})
  add_dependencies(all_tests ${name})
  # Those without LLVM build and run quickly. Those with the whole compiler and a backend other than the CPU's take the
  # longest to build under a sanitizer, and share what they test of memory with the others.
  if(NOT ARG_MLIR)
    add_dependencies(fast_tests ${name})
    set_tests_properties(${name} PROPERTIES LABELS fast)
  elseif(CMAKE_CURRENT_SOURCE_DIR MATCHES "/backends/(cuda|opencl|simulated|skeleton)")
    set_tests_properties(${name} PROPERTIES LABELS device)
    return()
  endif()
  add_dependencies(address_tests ${name})
endfunction()

# isthmus_link_mlir(target): links the static MLIR and LLVM archives into a final binary.
function(isthmus_link_mlir target)
  target_link_libraries(${target} PRIVATE ${ISTHMUS_MLIR_LIBS} ${ISTHMUS_LLVM_LIBS})
  isthmus_reuse_dialect_headers(${target})
  target_link_options(${target} PRIVATE -Wl,--gc-sections -Wl,--as-needed)
endfunction()

# isthmus_reserve_memory(plugin): its allocations, LLVM's included, know of MemoryReserve. Not under
# sanitizers, whose allocators end the process instead of failing.
function(isthmus_reserve_memory plugin)
  if(ISTHMUS_SANITIZE)
    return()
  endif()
  target_sources(${plugin} PRIVATE ${PROJECT_SOURCE_DIR}/pjrt/reserved_allocation.cc)
  foreach(function malloc calloc realloc _Znwm _Znam _ZnwmSt11align_val_t
      _ZnamSt11align_val_t _ZnwmRKSt9nothrow_t _ZnamRKSt9nothrow_t
      _ZnwmSt11align_val_tRKSt9nothrow_t _ZnamSt11align_val_tRKSt9nothrow_t
      __cxa_guard_acquire __cxa_guard_release __cxa_guard_abort)
    target_link_options(${plugin} PRIVATE -Wl,--wrap=${function})
  endforeach()
endfunction()

# isthmus_plugin(name backend): the shared library libisthmus_NAME.so in build/*/pjrt, which exports
# GetPjrtApi and hides the rest. `backend` is a library that defines linkedBackend(); others may follow that
# define what it leaves to its plugin.
function(isthmus_plugin name backend)
  set(plugin isthmus_${name}_plugin)
  set(exports ${PROJECT_SOURCE_DIR}/pjrt/exports.map)
  add_library(${plugin} SHARED ${PROJECT_SOURCE_DIR}/pjrt/plugin_main.cc)
  set_target_properties(${plugin} PROPERTIES OUTPUT_NAME isthmus_${name}
    LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/pjrt LINK_DEPENDS ${exports})
  target_link_libraries(${plugin} PRIVATE isthmus_pjrt ${backend} ${ARGN})
  isthmus_link_mlir(${plugin})
  isthmus_reserve_memory(${plugin})
  target_link_options(${plugin} PRIVATE -Wl,--version-script=${exports} -Wl,--exclude-libs,ALL)
  # Nothing undefined, but what the sanitizers' runtime brings, which belongs to the executable.
  if(NOT ISTHMUS_SANITIZE)
    target_link_options(${plugin} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
