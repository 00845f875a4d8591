# The guest of engine/test: a 64 KiB image for -bios, in 32-bit mode without paging. One test is
# assembled at a time: as --defsym TEST=<number> --defsym CPUS=<number>.
# SPDX-License-Identifier: GPL-2.0-or-later

        .intel_syntax noprefix
        .set WARP, 1            # time around HLT, one CPU
        .set RACE, 2            # CPUs that increment a word without a lock
        .set CODE, 3            # the same, and each round is new code to translate
        .set PAUSE, 4           # two CPUs that wait for each other with PAUSE
        .set PANIC, 5           # one CPU asks for a pause, the others count
        .set RESET, 6           # one CPU asks for a reset, the others print
        .set OFF, 7             # one CPU switches the machine off, the others print
        .set DEAD, 8            # HLT with interrupts disabled, and a periodic timer
        .set WALK, 9            # when code is looked up, as accessed bits show
        .set SIZE, 10           # when the TLB shrinks, as accessed bits show
        .set WORK, 11           # how long it takes until all CPUs have executed a loop
        .set CLOCK, 12          # CPUs that compare their clocks, under a lock
        .set KEEP, 13           # thousands of blocks of code, then a reset

        .set ROM, 0xf0000
        .set TRAMPOLINE, 0x8000 # where the other CPUs start
        .set IDT, 0x1000
        .set DATA, 0x20000
        .set READY, DATA        # CPUs that have started
        .set GO, DATA + 4
        .set DONE, DATA + 8     # CPUs that have finished
        .set SHARED, DATA + 12   # what they race for
        .set TURN, DATA + 16
        .set LOCK, DATA + 20
        .set LATEST, DATA + 24
        .set EARLIER, DATA + 28 # how often a clock was behind another one
        .set COUNTS, DATA + 64  # one word per CPU
        .set CODES, 0x30000     # one page per CPU
        .set DIRECTORY, 0x40000 # all of its entries are the one table
        .set TABLE, 0x41000
        .set ACCESSED, 0x20
        .set MIB, 1 << 20
        .set APIC, 0xfee00000
        .set CONSOLE, 0xe9

        .text
        .code32
start:
        mov     esp, 0x7000
        mov     dword ptr [APIC + 0xf0], 0x1ff
        .if     TEST == WARP
        jmp     warp
        .elseif TEST == DEAD
        jmp     dead
        .elseif TEST == WALK || TEST == SIZE
        jmp     paging
        .elseif TEST == KEEP
        jmp     keep
        .endif

        # Start the others: INIT, then where they start.
        mov     esi, offset trampoline
        mov     edi, TRAMPOLINE
        mov     ecx, offset trampoline_end - trampoline
        rep movsb
        mov     dword ptr [READY], 1
        mov     dword ptr [APIC + 0x300], 0xc4500
        mov     dword ptr [APIC + 0x300], 0xc4600 + (TRAMPOLINE >> 12)
1:      pause
        cmp     dword ptr [READY], CPUS
        jne     1b
        mov     dword ptr [GO], 1
        xor     ebx, ebx
        jmp     work

other:
        mov     ebx, 1
        lock xadd [READY], ebx  # the number of this CPU
        mov     esp, ebx
        shl     esp, 8
        add     esp, 0x9000
2:      pause
        cmp     dword ptr [GO], 0
        je      2b

work:
        .if     TEST == RACE || TEST == CODE
        mov     ecx, 300000
        .if     TEST == CODE
        mov     ecx, 60000
        .endif
3:      mov     eax, [SHARED]
        lea     eax, [eax + ebx * 2 + 1]
        .if     TEST == CODE
        # "mov edx, <round>; ret", written for each round
        mov     edi, ebx
        shl     edi, 12
        add     edi, CODES
        mov     byte ptr [edi], 0xba
        mov     [edi + 1], ecx
        mov     byte ptr [edi + 5], 0xc3
        call    edi
        .endif
        mov     [SHARED], eax
        # A CPU's own mark on the state of the others
        xor     [COUNTS + ebx * 4], eax
        rol     dword ptr [COUNTS + ebx * 4]
        dec     ecx
        jnz     3b
        lock inc dword ptr [DONE]
        test    ebx, ebx
        jnz     sleep
4:      pause
        cmp     dword ptr [DONE], CPUS
        jne     4b
        xor     ebx, ebx
5:      mov     eax, [COUNTS + ebx * 4]
        call    print
        inc     ebx
        cmp     ebx, CPUS
        jne     5b
        mov     eax, [SHARED]
        call    print
        jmp     exit

        .elseif TEST == PAUSE
        cmp     ebx, 2
        jae     sleep
        rdtsc
        mov     ebp, eax
        mov     ecx, 1000
6:      cmp     [TURN], ebx
        je      7f
        pause
        jmp     6b
7:      xor     dword ptr [TURN], 1
        dec     ecx
        jnz     6b
        test    ebx, ebx
        jnz     sleep
        rdtsc
        sub     eax, ebp
        call    print
        jmp     exit

        .elseif TEST == WORK || TEST == CLOCK
        rdtsc
        mov     ebp, eax
        .if     TEST == WORK
        mov     ecx, 1000000
24:     loop    24b
        .else
        mov     ecx, 30000
25:     mov     eax, 1
        xchg    [LOCK], eax
        test    eax, eax
        jz      26f
        pause
        jmp     25b
26:     rdtsc
        cmp     eax, [LATEST]
        jae     27f
        inc     dword ptr [EARLIER]
27:     mov     [LATEST], eax
        mov     dword ptr [LOCK], 0
        mov     eax, ebx
28:     dec     eax
        jns     28b
        dec     ecx
        jnz     25b
        .endif
        lock inc dword ptr [DONE]
        test    ebx, ebx
        jnz     sleep
29:     pause
        cmp     dword ptr [DONE], CPUS
        jne     29b
        rdtsc
        sub     eax, ebp
        .if     TEST == CLOCK
        mov     eax, [EARLIER]
        .endif
        call    print
        jmp     exit

        .else
        test    ebx, ebx
        jnz     9f
8:      mov     ecx, 1000000
10:     inc     dword ptr [COUNTS]
        dec     ecx
        jnz     10b
        .if     TEST == PANIC
        # DELAY instructions before the end of the slice: if the OUT is its last one, the turn
        # passes at the same time.
11:     rdtsc
        xor     edx, edx
        mov     ecx, 100000
        div     ecx
        mov     ecx, 100000
        sub     ecx, edx
        shr     ecx, 3
        sub     ecx, DELAY
        jle     11b
12:     loop    12b
        mov     dx, 0x505
        mov     al, 1
        out     dx, al
        .elseif TEST == RESET
        mov     dx, 0xcf9
        mov     al, 6
        out     dx, al
        .else
        # ACPI's registers of the PIIX4 to port 0x600, then S5
        mov     eax, 0x80000b40
        mov     ebx, 0x601
        call    configure
        mov     eax, 0x80000b80
        mov     ebx, 1
        call    configure
        mov     dx, 0x604
        mov     ax, 0x2000
        out     dx, ax
        .endif
        jmp     8b
9:      inc     dword ptr [COUNTS + ebx * 4]
        .if     TEST != PANIC
        mov     al, bl
        add     al, '0'
        out     CONSOLE, al
        .endif
        jmp     9b
        .endif

configure:
        mov     dx, 0xcf8
        out     dx, eax
        mov     dx, 0xcfc
        mov     eax, ebx
        out     dx, eax
        ret

sleep:
        cli
        hlt
        jmp     sleep

warp:
        mov     edi, IDT + 0x40 * 8
        mov     eax, offset tick
        mov     [edi], ax
        mov     word ptr [edi + 2], 8
        mov     word ptr [edi + 4], 0x8e00
        mov     word ptr [edi + 6], ROM >> 16
        lidt    [idt]
        mov     dword ptr [APIC + 0x3e0], 0xb
        mov     dword ptr [APIC + 0x320], 0x40
        mov     esi, 20000
        xor     ebp, ebp
11:     mov     ecx, esi
        and     ecx, 1023
        inc     ecx
12:     rol     ebp
        loop    12b
        mov     eax, esi
        and     eax, 63
        add     eax, 20000
        mov     [APIC + 0x380], eax
        sti
        hlt
        cli
        rdtsc
        xor     ebp, eax
        dec     esi
        jnz     11b
        call    print
        mov     eax, ebp
        call    print
        jmp     exit

tick:
        mov     dword ptr [APIC + 0xb0], 0
        iret

dead:
        mov     dword ptr [APIC + 0x3e0], 0xb
        mov     dword ptr [APIC + 0x320], 0x20040
        mov     dword ptr [APIC + 0x380], 1000
        mov     al, 'd'
        out     CONSOLE, al
        jmp     sleep

        # The first 4 MiB, again and again. A page and those 1, 2, 3, 5 ... MiB above it have the
        # same index in a TLB of 256 entries, but not the same entry of the table.
paging:
        mov     edi, DIRECTORY
        mov     ecx, 1024
        mov     eax, TABLE + 3
        rep stosd
        mov     edi, TABLE
        mov     ecx, 1024
        mov     eax, 3
15:     stosd
        add     eax, 0x1000
        loop    15b
        mov     eax, DIRECTORY
        mov     cr3, eax
        mov     eax, cr0
        or      eax, 0x80000000
        mov     cr0, eax
        xor     ebp, ebp
        .if     TEST == WALK
        # Flush, which forgets where code is. Then evict the page of this code from the TLB, clear
        # its accessed bit, and count until it is set: by the next lookup of code.
        mov     esi, 200
16:     mov     eax, cr3
        mov     cr3, eax
        mov     edi, ROM + MIB
        mov     ecx, 10
17:     mov     eax, [edi]
        mov     eax, [edi + MIB]
        mov     eax, [edi + 2 * MIB]
        add     edi, 4 * MIB
        dec     ecx
        jnz     17b
        and     dword ptr [TABLE + (ROM >> 10)], ~ACCESSED
        mov     ecx, 30000
18:     test    dword ptr [TABLE + (ROM >> 10)], ACCESSED
        jnz     19f
        dec     ecx
        jnz     18b
19:     rol     ebp
        xor     ebp, ecx
        dec     esi
        jnz     16b
        .else
        # Fill the TLB, so that it grows to 512 entries.
        mov     edi, DATA
        mov     ecx, 220
20:     mov     eax, [edi]
        add     edi, 0x1000
        loop    20b
        # Then evict a page from a TLB of 256 entries, again and again. Count until it is evicted.
21:     mov     eax, cr3
        mov     cr3, eax
        inc     ebp
        mov     ecx, 20000
22:     loop    22b
        mov     eax, [DATA]
        and     dword ptr [TABLE + (DATA >> 10)], ~ACCESSED
        mov     edi, DATA + MIB
        mov     ecx, 20
23:     mov     eax, [edi]
        add     edi, 2 * MIB
        loop    23b
        mov     eax, [DATA]
        test    dword ptr [TABLE + (DATA >> 10)], ACCESSED
        jz      21b
        .endif
        mov     eax, ebp
        call    print
        jmp     exit

        .if     TEST == KEEP
keep:
        xor     eax, eax
        .rept   3000            # the constant is part of the code
        add     eax, DELAY + 0x1000
        jmp     1f
1:      rol     eax
        .endr
        call    print
        mov     dx, 0xcf9
        mov     al, 6
        out     dx, al
        hlt
        .endif

print:                          # eax, in hexadecimal
        push    ecx
        mov     ecx, 8
13:     rol     eax, 4
        push    eax
        and     al, 15
        add     al, '0'
        cmp     al, '9'
        jbe     14f
        add     al, 'a' - '0' - 10
14:     out     CONSOLE, al
        pop     eax
        loop    13b
        mov     al, 10
        out     CONSOLE, al
        pop     ecx
        ret

exit:                           # a last line
        mov     al, '.'
        out     CONSOLE, al
        mov     al, 10
        out     CONSOLE, al
        jmp     sleep

        .code16
trampoline:
        cli
        .byte   0x66, 0x2e, 0x0f, 0x01, 0x16    # lgdt cs:[...]
        .word   offset gdt_pointer - trampoline
        mov     eax, cr0
        or      al, 1
        mov     cr0, eax
        .byte   0x66, 0xea                      # jmp 8:other_start
        .long   offset other_start
        .word   8
gdt_pointer:
        .word   23
        .long   offset gdt
trampoline_end:

        .code32
other_start:
        mov     eax, 16
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        jmp     other

        .balign 8
gdt:
        .quad   0
        .quad   0x00cf9a000000ffff
        .quad   0x00cf92000000ffff
idt:
        .word   0x7ff
        .long   IDT

        .code16
boot:
        cli
        .byte   0x66, 0x2e, 0x0f, 0x01, 0x16
        .word   boot_gdt - start
        mov     eax, cr0
        or      al, 1
        mov     cr0, eax
        .byte   0x66, 0xea
        .long   offset boot_start
        .word   8
boot_gdt:
        .word   23
        .long   offset gdt
        .code32
boot_start:
        mov     eax, 16
        mov     ds, eax
        mov     es, eax
        mov     ss, eax
        jmp     start

        .org    0xfff0
        .code16
        .byte   0xe9                            # jmp boot
        .word   boot - . - 2
        .org    0x10000
