# Adds our CPU kernels to ggml. build.sh passes this file as CMAKE_PROJECT_ggml_INCLUDE: cmake reads it at project("ggml") and,
# once all targets of ggml exist, calls the function below. ggml's own CMake files stay as they are.

set(SVC_KERNELS_DIR "${CMAKE_CURRENT_LIST_DIR}")

# Includes a header of ours before the first line of a source file, whose hooks call it (prebuilt/patches).
function(svc_include header target source)
    set_property(SOURCE "${CMAKE_CURRENT_SOURCE_DIR}/${source}" TARGET_DIRECTORY ${target}
        APPEND PROPERTY COMPILE_OPTIONS "-include${SVC_KERNELS_DIR}/${header}")
endfunction()

function(svc_add_kernels)
    svc_include(zero_pages.h ggml-base src/ggml-backend.cpp)
    svc_include(uploads.h ggml-base src/ggml-backend.cpp)
    svc_include(svc_cpu_hooks.h ggml-base src/ggml-cpu/ggml-cpu.c)
    svc_include(svc_cpu_hooks.h ggml-base src/ggml-cpu/ggml-cpu.cpp)
    get_property(targets DIRECTORY src PROPERTY BUILDSYSTEM_TARGETS)
    foreach(target IN LISTS targets)
        if(target STREQUAL "ggml-base")
            target_include_directories(${target} PRIVATE "${SVC_KERNELS_DIR}")
        elseif(target MATCHES "^ggml-cpu" AND NOT target MATCHES "-feats$")
            file(GLOB sources CONFIGURE_DEPENDS "${SVC_KERNELS_DIR}/*.cpp")
            target_sources(${target} PRIVATE ${sources})
            # NEON in all variants: upstream's vectors are SVE's where a variant has it, whose types have no size.
            if(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
                set_property(SOURCE "${SVC_KERNELS_DIR}/attention.cpp" TARGET_DIRECTORY ${target} PROPERTY COMPILE_OPTIONS "-march=armv8-a")
            endif()
            target_include_directories(${target} PRIVATE "${SVC_KERNELS_DIR}")
        endif()
    endforeach()
endfunction()

cmake_language(DEFER CALL svc_add_kernels)
