# The guest of engine/test for aarch64: an image for -bios of the machine `virt`, without paging. One
# test is assembled at a time: as --defsym TEST=<number> --defsym CPUS=<number>.
# SPDX-License-Identifier: GPL-2.0-or-later

        .set WARP, 1            // time around WFI, one CPU
        .set RACE, 2            // CPUs that increment a word without a lock
        .set CODE, 3            // the same, and each round is new code to translate
        .set YIELD, 4           // two CPUs that wait for each other with YIELD
        .set WFE, 5             // the same with WFE
        .set RESET, 6           // one CPU asks for a reset, the others print
        .set OFF, 7             // one CPU switches the machine off, the others print
        .set WORK, 8            // how long it takes until all CPUs have executed a loop
        .set CLOCK, 9           // CPUs that compare their clocks, under a lock
        .set KEEP, 10           // thousands of blocks of code, then a reset

        .set CONSOLE, 0x09000000        // a PL011
        .set DISTRIBUTOR, 0x08000000    // of the GIC
        .set INTERFACE, 0x08010000
        .set DATA, 0x41000000   // words: CPUs that are over, the shared word, whose turn, a lock,
        .set DONE, 0            // the latest time, and how often one was before it
        .set SHARED, 4
        .set TURN, 8
        .set LOCK, 12
        .set LATEST, 16
        .set EARLIER, 24
        .set READY, 28
        .set COUNTS, 64         // one word per CPU
        .set CODES, 0x41100000  // one page per CPU
        .set TIMER, 27          // the interrupt of the virtual timer
        .set CPU_ON, 0xc4000003 // of PSCI
        .set SYSTEM_OFF, 0x84000008
        .set SYSTEM_RESET, 0x84000009

        // x19 is the number of this CPU, x20 the data, x21 the console.
        .macro  set register, value
        movz    \register, (\value) & 0xffff
        movk    \register, (\value) >> 16, lsl 16
        .endm
        .macro  psci function
        set     x0, \function
        hvc     0
        .endm
        .macro  add_one offset
        add     x9, x20, \offset
9990:   ldxr    w10, [x9]
        add     w10, w10, 1
        stlxr   w11, w10, [x9]
        cbnz    w11, 9990b
        .endm

        .text
start:
        mov     x19, 0
        set     x20, DATA
        set     x21, CONSOLE
        .if     TEST == WARP
        b       warp
        .elseif TEST == KEEP
        b       keep
        .endif
        mov     x22, 1
1:      cmp     x22, CPUS
        b.eq    2f
        mov     x1, x22
        adr     x2, other
        mov     x3, x22
        psci    CPU_ON
        add     x22, x22, 1
        b       1b
2:      b       ready

other:
        mov     x19, x0
        set     x20, DATA
        set     x21, CONSOLE
ready:
        add_one READY
3:      yield
        ldr     w9, [x20, READY]
        cmp     w9, CPUS
        b.ne    3b

        add     x23, x20, COUNTS
        add     x23, x23, x19, lsl 2    // the word of this CPU
        .if     TEST == RACE || TEST == CODE
        .if     TEST == CODE
        mov     w24, 60000
        set     x25, CODES
        add     x25, x25, x19, lsl 12
        .else
        set     w24, 300000
        .endif
4:      ldr     w0, [x20, SHARED]
        add     w0, w0, 1
        add     w0, w0, w19, lsl 1
        .if     TEST == CODE
        // "movz w1, <round>; ret", written for each round
        set     w9, 0x52800001
        orr     w9, w9, w24, lsl 5
        str     w9, [x25]
        set     w9, 0xd65f03c0
        str     w9, [x25, 4]
        ic      ivau, x25
        isb
        blr     x25
        .endif
        str     w0, [x20, SHARED]
        // A CPU's own mark on the state of the others
        ldr     w9, [x23]
        eor     w9, w9, w0
        ror     w9, w9, 31
        str     w9, [x23]
        subs    w24, w24, 1
        b.ne    4b
        add_one DONE
        cbnz    x19, sleep
5:      wfe
        ldr     w9, [x20, DONE]
        cmp     w9, CPUS
        b.ne    5b
        mov     x24, CPUS
6:      ldr     w0, [x23], 4
        bl      print
        subs    x24, x24, 1
        b.ne    6b
        ldr     w0, [x20, SHARED]
        bl      print
        b       exit

        .elseif TEST == YIELD || TEST == WFE
        cmp     x19, 2
        b.hs    sleep
        mrs     x25, cntvct_el0
        mov     x24, 1000
7:      ldr     w9, [x20, TURN]
        cmp     w9, w19
        b.eq    8f
        .if     TEST == YIELD
        yield
        .else
        wfe
        .endif
        b       7b
8:      eor     w9, w9, 1
        str     w9, [x20, TURN]
        subs    x24, x24, 1
        b.ne    7b
        cbnz    x19, sleep
        mrs     x0, cntvct_el0
        sub     x0, x0, x25
        lsl     x0, x0, 4               // of 16 ns each
        bl      print
        b       exit

        .elseif TEST == WORK || TEST == CLOCK
        mrs     x25, cntvct_el0
        .if     TEST == WORK
        set     x24, 500000
9:      subs    x24, x24, 1
        b.ne    9b
        .else
        mov     x24, 30000
        add     x9, x20, LOCK
10:     mov     w10, 1
11:     ldaxr   w11, [x9]
        cbnz    w11, 12f
        stxr    w11, w10, [x9]
        cbz     w11, 13f
12:     wfe
        b       11b
13:     isb
        mrs     x0, cntvct_el0
        ldr     x1, [x20, LATEST]
        cmp     x0, x1
        b.hs    14f
        ldr     w2, [x20, EARLIER]
        add     w2, w2, 1
        str     w2, [x20, EARLIER]
14:     str     x0, [x20, LATEST]
        stlr    wzr, [x9]
        mov     x0, x19
15:     subs    x0, x0, 1
        b.pl    15b
        subs    x24, x24, 1
        b.ne    10b
        .endif
        add_one DONE
        cbnz    x19, sleep
16:     yield
        ldr     w9, [x20, DONE]
        cmp     w9, CPUS
        b.ne    16b
        .if     TEST == WORK
        mrs     x0, cntvct_el0
        sub     x0, x0, x25
        lsl     x0, x0, 4
        .else
        ldr     w0, [x20, EARLIER]
        .endif
        bl      print
        b       exit

        .elseif TEST == RESET || TEST == OFF
        cbnz    x19, 18f
        set     x24, 1000000
17:     subs    x24, x24, 1
        b.ne    17b
        .if     TEST == RESET
        psci    SYSTEM_RESET
        .else
        psci    SYSTEM_OFF
        .endif
18:     add     w9, w19, '0'
        str     w9, [x21]
        b       18b
        .endif

sleep:
        wfi
        b       sleep

        .if     TEST == WARP
warp:
        set     x9, DISTRIBUTOR
        mov     w10, 1
        str     w10, [x9]
        set     x10, 1 << TIMER
        str     w10, [x9, 0x100]
        set     x9, INTERFACE
        mov     w10, 0xff
        str     w10, [x9, 4]
        mov     w10, 1
        str     w10, [x9]
        mov     x24, 20000
        mov     x25, 0
19:     and     x9, x24, 1023
        add     x9, x9, 1
20:     ror     x25, x25, 63
        subs    x9, x9, 1
        b.ne    20b
        and     x9, x24, 63
        add     x9, x9, 1250
        msr     cntv_tval_el0, x9
        mov     x9, 1
        msr     cntv_ctl_el0, x9
        wfi
        msr     cntv_ctl_el0, xzr
        mrs     x0, cntvct_el0
        eor     x25, x25, x0
        subs    x24, x24, 1
        b.ne    19b
        bl      print
        mov     x0, x25
        bl      print
        b       exit
        .endif

        .if     TEST == KEEP
keep:
        mov     w0, 0
        .rept   3000            // the constant is part of the code
        add     w0, w0, DELAY
        b       1f
1:      ror     w0, w0, 31
        .endr
        bl      print
        psci    SYSTEM_RESET
        b       sleep
        .endif

print:                          // w0, in hexadecimal
        mov     w10, 8
21:     ror     w0, w0, 28
        and     w9, w0, 15
        add     w11, w9, '0'
        add     w12, w9, 'a' - 10
        cmp     w9, 10
        csel    w9, w11, w12, lo
        str     w9, [x21]
        subs    w10, w10, 1
        b.ne    21b
        mov     w9, 10
        str     w9, [x21]
        ret

exit:                           // a last line
        mov     w9, '.'
        str     w9, [x21]
        mov     w9, 10
        str     w9, [x21]
        b       sleep
