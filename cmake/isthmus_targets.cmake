# The few target kinds that the tree is built from, so that each CMakeLists.txt is a list of files.

# isthmus_precompile(name [OPTIONS ...] [DEPS ...] HEADERS ...): headers that come precompiled to code that is compiled with
# these options and reuses them from this target.
function(isthmus_precompile name)
  cmake_parse_arguments(ARG "" "" "OPTIONS;DEPS;HEADERS" ${ARGN})
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_compile_options(${name} PRIVATE -fPIC ${ARG_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${ARG_HEADERS})
endfunction()

# isthmus_reuse_headers(target headers): what a file of this target would read in seconds is there. Executables are compiled
# as libraries for it: precompiled headers serve only code that is made alike.
function(isthmus_reuse_headers target headers)
  if(TARGET ${headers})
    target_precompile_headers(${target} REUSE_FROM ${headers})
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
endfunction()

# isthmus_library(name SOURCES ... DEPS ...): a static library. With MLIR, it sees MLIR's headers. One that is OPTIMIZED
# computes much itself and is optimised under sanitizers too.
function(isthmus_library name)
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC
    ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include ${PROJECT_BINARY_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
  if(ARG_MLIR)
    target_include_directories(${name} SYSTEM PUBLIC ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
    if(NOT name STREQUAL isthmus_dialect)
      isthmus_reuse_headers(${name} isthmus_dialect)
      set_target_properties(${name} PROPERTIES UNITY_BUILD ${ISTHMUS_UNITY})
    endif()
  elseif(ARG_OPTIMIZED AND ISTHMUS_SANITIZE)
    target_compile_options(${name} PRIVATE -O1)
  else()
    isthmus_reuse_headers(${name} isthmus_standard_headers)
  endif()
endfunction()

# Optimisers take the longest for what runs once, under GoogleTest's macros most of all.
set(ISTHMUS_TEST_OPTIONS -O0)

# isthmus_test(name SOURCES ... DEPS ...): a GoogleTest binary that ctest runs. Its own code is not optimised, unless it is
# OPTIMIZED, for it computes much itself.
function(isthmus_test name)
  if(NOT ISTHMUS_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "MLIR;OPTIMIZED" "" "SOURCES;DEPS" ${ARGN})
  find_package(GTest REQUIRED)
  add_executable(${name} ${ARG_SOURCES})
  if(ARG_OPTIMIZED)
    target_compile_options(${name} PRIVATE -O2)
  else()
    target_compile_options(${name} PRIVATE ${ISTHMUS_TEST_OPTIONS})
    if(ARG_MLIR)
      isthmus_reuse_headers(${name} isthmus_mlir_test_headers)
    else()
      isthmus_reuse_headers(${name} isthmus_test_headers)
    endif()
  endif()
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gmock GTest::gtest_main)
  if(ARG_MLIR)
    isthmus_link_mlir(${name} OWN_HEADERS)
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

# isthmus_link_mlir(target [OWN_HEADERS]): links the static MLIR and LLVM archives into a final binary, which reuses the
# dialect's headers unless it has chosen others.
function(isthmus_link_mlir target)
  target_link_libraries(${target} PRIVATE ${ISTHMUS_MLIR_LIBS} ${ISTHMUS_LLVM_LIBS})
  if(NOT "OWN_HEADERS" IN_LIST ARGN)
    isthmus_reuse_headers(${target} isthmus_dialect)
  endif()
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

include(CheckLinkerFlag)
check_linker_flag(CXX -Wl,--icf=all ISTHMUS_LINKER_FOLDS)

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
  # Functions of the same code become one, 5 of 60 MB: nobody compares their addresses. Not where stack traces are read.
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND ISTHMUS_LINKER_FOLDS)
    target_link_options(${plugin} PRIVATE -Wl,--icf=all)
  endif()
  # Nothing undefined, but what the sanitizers' runtime brings, which belongs to the executable.
  if(NOT ISTHMUS_SANITIZE)
    target_link_options(${plugin} PRIVATE -Wl,-z,defs)
  endif()
endfunction()
