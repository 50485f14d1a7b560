/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The switch is a few instructions of our own: swapcontext() makes a system call each time to
 * keep signal masks apart, which simulated functions do not have. On other processors it
 * is swapcontext() nevertheless; -DCOROUTINE_UCONTEXT forces it.
 */
#include "platform/twin_coroutine.h"

#include <assert.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __has_feature
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || HAS_FEATURE(address_sanitizer)
#define WITH_ASAN
#include <sanitizer/asan_interface.h>
#elif defined(__SANITIZE_THREAD__) || HAS_FEATURE(thread_sanitizer)
#define WITH_TSAN
#include <sanitizer/tsan_interface.h>
#endif

/* ---- what the sanitizers want to know ----------------------------------------------------- */

#if defined(WITH_ASAN)

/* FROM is left for good when FINAL. */
static void before_switch(struct coroutine_context *from, const struct coroutine_context *to,
                          bool final)
{
    __sanitizer_start_switch_fiber(final ? NULL : &from->sanitizer, to->stack_bottom,
                                   to->stack_bytes);
}

/* Running as SELF, having come from FROM, whose stack is learnt here. */
static void after_switch(struct coroutine_context *self, struct coroutine_context *from)
{
    __sanitizer_finish_switch_fiber(self->sanitizer, &from->stack_bottom, &from->stack_bytes);
}

static void announce(struct coroutine *c UNUSED)
{
}

/* A dropped stack leaves marks of its frames behind; the next owner of the pages must not see them.
 */
static void withdraw(struct coroutine *c)
{
    __asan_unpoison_memory_region(c->mapping, c->mapping_bytes);
}

#elif defined(WITH_TSAN)

static void before_switch(struct coroutine_context *from, const struct coroutine_context *to,
                          bool final UNUSED)
{
    from->sanitizer = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(to->sanitizer, 0);
}

static void after_switch(struct coroutine_context *self UNUSED,
                         struct coroutine_context *from UNUSED)
{
}

static void announce(struct coroutine *c)
{
    c->self.sanitizer = __tsan_create_fiber(0);
}

static void withdraw(struct coroutine *c)
{
    __tsan_destroy_fiber(c->self.sanitizer);
}

#else

static void before_switch(struct coroutine_context *from UNUSED,
                          const struct coroutine_context *to UNUSED, bool final UNUSED)
{
}

static void after_switch(struct coroutine_context *self UNUSED,
                         struct coroutine_context *from UNUSED)
{
}

static void announce(struct coroutine *c UNUSED)
{
}

static void withdraw(struct coroutine *c UNUSED)
{
}

#endif

static void run(struct coroutine *c);

/* ---- the machine's part: prepare(), swap() ------------------------------------------------ */

#ifdef COROUTINE_UCONTEXT

/* makecontext() hands on ints only. */
static void run_halves(unsigned high, unsigned low)
{
    run((struct coroutine *)((uintptr_t)high << 32 | low));
}

static void prepare(struct coroutine *c, char *top UNUSED)
{
    uintptr_t self = (uintptr_t)c;

    getcontext(&c->self.machine);
    c->self.machine.uc_stack.ss_sp = (void *)c->self.stack_bottom;
    c->self.machine.uc_stack.ss_size = c->self.stack_bytes;
    c->self.machine.uc_link = NULL;
    makecontext(&c->self.machine, (void (*)(void))run_halves, 2, (unsigned)(self >> 32),
                (unsigned)self);
}

static void swap(struct coroutine_context *from, struct coroutine_context *to)
{
    swapcontext(&from->machine, &to->machine);
}

#else

/* Save what a call must keep, its address in *SAVE; go on where TO was saved. */
void coroutine_swap(void **save, void *to);
/* Where a new stack begins: calls run() with what prepare() left in a saved register. */
void coroutine_begin(void);
/* Called by coroutine_begin() only, which no compiler sees. */
__attribute__((used, visibility("hidden"))) void coroutine_run(struct coroutine *c);

void coroutine_run(struct coroutine *c)
{
    run(c);
}

static void swap(struct coroutine_context *from, struct coroutine_context *to)
{
    coroutine_swap(&from->sp, to->sp);
}

#if defined(__x86_64__)

/* System V: rbx, rbp, r12-r15 and the control words of both floating-point units are kept. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl coroutine_swap\n"
        ".hidden coroutine_swap\n"
        ".type coroutine_swap, @function\n"
        "coroutine_swap:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    subq $8, %rsp\n"
        "    stmxcsr (%rsp)\n"
        "    fnstcw 4(%rsp)\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    ldmxcsr (%rsp)\n"
        "    fldcw 4(%rsp)\n"
        "    addq $8, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size coroutine_swap, .-coroutine_swap\n"
        ".globl coroutine_begin\n"
        ".hidden coroutine_begin\n"
        ".type coroutine_begin, @function\n"
        "coroutine_begin:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined rip\n"
        "    movq %r12, %rdi\n"
        "    call coroutine_run\n"
        "    ud2\n"
        "    .cfi_endproc\n"
        ".size coroutine_begin, .-coroutine_begin\n");

static void prepare(struct coroutine *c, char *top)
{
    uint64_t *sp = (uint64_t *)top;
    uint32_t control[2] = { 0 };

    __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "+m"(control[0]), "+m"(control[1]));
    *--sp = (uint64_t)(uintptr_t)coroutine_begin;
    *--sp = 0;                      /* rbp: here ends the chain of frames */
    *--sp = 0;                      /* rbx */
    *--sp = (uint64_t)(uintptr_t)c; /* r12 */
    *--sp = 0;                      /* r13 */
    *--sp = 0;                      /* r14 */
    *--sp = 0;                      /* r15 */
    memcpy(--sp, control, sizeof(control));
    c->self.sp = sp;
}

#elif defined(__aarch64__)

/* AAPCS64: x19-x30 and the low halves of v8-v15 are kept; fpcr for the rounding mode. */
__asm__(".text\n"
        ".p2align 4\n"
        ".globl coroutine_swap\n"
        ".hidden coroutine_swap\n"
        ".type coroutine_swap, %function\n"
        "coroutine_swap:\n"
        "    sub sp, sp, #176\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mrs x9, fpcr\n"
        "    str x9, [sp, #160]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    ldr x9, [sp, #160]\n"
        "    msr fpcr, x9\n"
        "    add sp, sp, #176\n"
        "    ret\n"
        ".size coroutine_swap, .-coroutine_swap\n"
        ".globl coroutine_begin\n"
        ".hidden coroutine_begin\n"
        ".type coroutine_begin, %function\n"
        "coroutine_begin:\n"
        "    .cfi_startproc\n"
        "    .cfi_undefined x30\n"
        "    mov x0, x19\n"
        "    bl coroutine_run\n"
        "    brk #1\n"
        "    .cfi_endproc\n"
        ".size coroutine_begin, .-coroutine_begin\n");

static void prepare(struct coroutine *c, char *top)
{
    uint64_t *sp = (uint64_t *)(top - 176);

    memset(sp, 0, 176);
    __asm__ volatile("mrs %0, fpcr" : "=r"(sp[20]));
    sp[0] = (uint64_t)(uintptr_t)c;                /* x19 */
    sp[11] = (uint64_t)(uintptr_t)coroutine_begin; /* x30 */
    c->self.sp = sp;
}

#endif
#endif

/* ---- what is common ----------------------------------------------------------------------- */

static void run(struct coroutine *c)
{
    after_switch(&c->self, &c->caller);
    c->fn(c->arg);
    c->ended = true;
    before_switch(&c->self, &c->caller, true);
    swap(&c->self, &c->caller);
    abort();
}

int coroutine_init(struct coroutine *c, size_t stack_bytes, coroutine_fn fn, void *arg)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), total = round_up(stack_bytes, page) + page;
    char *mapping = mmap(NULL, total, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);

    if (mapping == MAP_FAILED)
        return E_MEMORY;
    if (mprotect(mapping, page, PROT_NONE)) {
        munmap(mapping, total);
        return E_MEMORY;
    }
    *c = (struct coroutine){ .fn = fn, .arg = arg, .mapping = mapping, .mapping_bytes = total };
    c->self.stack_bottom = mapping + page;
    c->self.stack_bytes = total - page;
    announce(c);
    prepare(c, mapping + total);
    return 0;
}

void coroutine_release(struct coroutine *c)
{
    if (c->mapping) {
        withdraw(c);
        munmap(c->mapping, c->mapping_bytes);
    }
    *c = (struct coroutine){ 0 };
}

void coroutine_resume(struct coroutine *c)
{
    struct coroutine_context unused = { 0 };

    assert(c->mapping && !c->ended);
    before_switch(&c->caller, &c->self, false);
    swap(&c->caller, &c->self);
    after_switch(&c->caller, &unused);
}

void coroutine_suspend(struct coroutine *c)
{
    before_switch(&c->self, &c->caller, false);
    swap(&c->self, &c->caller);
    after_switch(&c->self, &c->caller);
}
