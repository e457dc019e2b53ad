import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { createQueries } from './api/queries.ts';
import { router } from './router.tsx';
import './styles.css';
import { ThemeProvider } from './theme/theme.tsx';
import { ZoneProvider } from './time/zone.tsx';
import { ToastProvider } from './ui/toast.tsx';

const queries = createQueries();

createRoot(document.getElementById('app') as HTMLElement).render(
  <StrictMode>
    <ThemeProvider>
      <ZoneProvider>
        <QueryClientProvider client={queries}>
          <ToastProvider>
            <RouterProvider router={router} />
          </ToastProvider>
        </QueryClientProvider>
      </ZoneProvider>
    </ThemeProvider>
  </StrictMode>,
);
