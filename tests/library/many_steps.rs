//! The steps of many_steps.c in Rust.

#[path = "coded.rs"]
mod coded;
#[path = "several.rs"]
mod several;

use std::io::Write;

const STEPS: usize = 200;
const SHAPES: [[i64; 2]; 3] = [[37, 1], [50, 90], [20000, 1]];

/// The tensors of a run: 32 bits of each number, or the upper 16.
struct Arrays {
    state: u32,
    is_short: bool,
    long: Vec<Vec<f32>>,
    short: Vec<Vec<u16>>,
}

impl Arrays {
    fn new(is_short: bool) -> Arrays {
        let sizes = SHAPES.iter().map(|[rows, columns]| (rows * columns) as usize);
        let long: Vec<_> = sizes.map(|n| vec![0f32; n]).collect();
        let short = long.iter().map(|x| vec![0u16; x.len()]).collect();
        Arrays { state: 1, is_short, long, short }
    }

    fn fill(&mut self) {
        for (long, short) in self.long.iter_mut().zip(&mut self.short) {
            for (x, half) in long.iter_mut().zip(short) {
                self.state = self.state.wrapping_mul(1664525).wrapping_add(1013904223);
                *x = (self.state & 0xFFFFFF00) as i32 as f32 / 2147483648.0;
                *half = (x.to_bits() >> 16) as u16;
            }
        }
    }

    fn address(&mut self, i: usize) -> *mut std::ffi::c_void {
        if self.is_short {
            self.short[i].as_mut_ptr().cast()
        } else {
            self.long[i].as_mut_ptr().cast()
        }
    }

    fn write(&self) -> std::io::Result<()> {
        let mut out = std::io::stdout().lock();
        for (long, short) in self.long.iter().zip(&self.short) {
            if self.is_short {
                short.iter().try_for_each(|x| out.write_all(&x.to_ne_bytes()))?;
            } else {
                long.iter().try_for_each(|x| out.write_all(&x.to_ne_bytes()))?;
            }
        }
        Ok(())
    }
}

macro_rules! run {
    ($library:ident, $spec:ident, $tensor:ident, $options:ident, $hyper:ident, $is_short:expr, $($step:ident),+) => {{
        use $library::{$hyper, $options, $spec, $tensor};
        let (mut data, mut grads) = (Arrays::new($is_short), Arrays::new($is_short));
        data.fill();
        grads.state = data.state;
        let tensor = |i: usize| $tensor { data: data.address(i), grad: grads.address(i), shape: SHAPES[i].as_ptr(), rank: 2 };
        let tensors: Vec<_> = (0..SHAPES.len()).map(tensor).collect();
        let hyper = $hyper::default();
        let mut context = unsafe { $spec::new(&tensors, &$options::default(), &hyper)? };
        for _ in 0..STEPS {
            $(
                grads.fill();
                context.$step(&hyper)?;
            )+
        }
        data.write()?;
    }};
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    run!(several, Adam, AdamTensor, AdamOptions, AdamHyper, false, step);
    run!(several, Lamb, LambTensor, LambOptions, LambHyper, false, step);
    run!(several, Adafactor, AdafactorTensor, AdafactorOptions, AdafactorHyper, false, step);
    run!(several, Lbfgs, LbfgsTensor, LbfgsOptions, LbfgsHyper, false, step);
    run!(several, Sgld, SgldTensor, SgldOptions, SgldHyper, false, step);
    run!(several, AdamWithSam, AdamWithSamTensor, AdamWithSamOptions, AdamWithSamHyper, false, step_ascend, step_descend);
    run!(coded, Lion, LionTensor, LionOptions, LionHyper, true, step);
    eprintln!("{}", several::cpu().unwrap_or("none"));
    Ok(())
}
